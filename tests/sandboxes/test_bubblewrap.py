"""The bubblewrap sandbox keeps the contract, with both kinds of shell."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from perdure.conformance.sandboxes import check_sandbox
from perdure.core.errors import EnvironmentUnavailable
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from perdure.sandboxes.helper_process import bubblewrap_files, helper_command, id_mapping
from perdure.sandboxes.limits import Limits
from perdure.sandboxes.sandbox import Sandbox
from tests.sandboxes.availability import need_bubblewrap, need_programs

ROOM = 10_000


def text(machine: BubblewrapSandbox, command: str, timeout: float = 10.0) -> str:
    return machine.exec(command, timeout=timeout, max_output=ROOM).output.decode("utf-8", "replace")


@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
def test_it_passes_the_conformance_suite(persistent: bool) -> None:
    need_bubblewrap()
    results = list(check_sandbox(lambda: BubblewrapSandbox(persistent_shell=persistent)))
    assert [result for result in results if not result.passed] == []
    assert len(results) == 14


def test_it_is_a_sandbox(sandbox: BubblewrapSandbox) -> None:
    assert isinstance(sandbox, Sandbox)


def test_a_fresh_shell_forgets_its_folder_and_variables(sandbox: BubblewrapSandbox) -> None:
    text(sandbox, "cd /etc; kept=yes")
    assert text(sandbox, 'pwd; echo "[$kept]"') == "/\n[]\n"


def test_a_persistent_shell_keeps_them_and_comes_back_after_exit_and_timeout() -> None:
    need_bubblewrap()
    machine = BubblewrapSandbox(persistent_shell=True)
    try:
        text(machine, "cd /etc; kept=yes; say() { echo said; }")
        assert text(machine, 'pwd; echo "$kept"; say') == "/etc\nyes\nsaid\n"
        assert machine.exec("sleep 60", timeout=0.3, max_output=ROOM).timed_out
        assert text(machine, "pwd").endswith("/etc\n")
        stuck = machine.exec("while :; do :; done", timeout=0.3, max_output=ROOM)
        assert stuck.timed_out
        assert b"the next command gets a new one" in stuck.output
        assert text(machine, "pwd") == "/\n"
        left = machine.exec("exit 5", timeout=5, max_output=ROOM)
        assert left.exit_code == 5
        assert text(machine, "echo 'open") != ""
        assert text(machine, "echo on") == "on\n"
    finally:
        machine.close()


def test_setuid_programs_give_rights_inside(sandbox: BubblewrapSandbox) -> None:
    need_programs(sandbox, "sudo")
    text(sandbox, "useradd -m ann && echo 'ann ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ann")
    assert "uid=0(root)" in text(sandbox, "su ann -c 'sudo id'")
    assert "uid=0(root)" not in text(sandbox, "su ann -c id")


@pytest.mark.parametrize(
    "script",
    [
        "chage -M 30 root && chage -l root",
        "echo '* * * * * true' | crontab - && crontab -l",
        "passwd -l root",
        "cat <(echo through /dev/fd)",
        "ping_free=1; ip addr show lo | grep LOOPBACK",
    ],
)
def test_administration_works(sandbox: BubblewrapSandbox, script: str) -> None:
    need_programs(sandbox, *(["crontab"] if "crontab" in script else []))
    result = sandbox.exec(script, timeout=10, max_output=ROOM)
    assert result.exit_code == 0, result.output
    assert result.output


def test_sixteen_at_once_hold_and_are_apart() -> None:
    need_bubblewrap()
    with ThreadPoolExecutor(16) as pool:
        machines = list(pool.map(lambda _: BubblewrapSandbox(), range(16)))
        try:
            named = list(enumerate(machines))
            list(pool.map(lambda pair: text(pair[1], f"echo {pair[0]} > /tmp/number", 60), named))
            said = list(pool.map(lambda pair: text(pair[1], "sleep 0.2; cat /tmp/number", 60), named))
        finally:
            list(pool.map(lambda machine: machine.close(), machines))
    assert said == [f"{i}\n" for i in range(16)]


def test_threads_may_come_and_go(sandbox: BubblewrapSandbox) -> None:
    made: list[BubblewrapSandbox] = []
    thread = threading.Thread(target=lambda: made.append(BubblewrapSandbox()))
    thread.start()
    thread.join()
    try:
        assert text(made[0], "echo alive") == "alive\n"
    finally:
        made[0].close()


def test_files_that_cannot_be_read_are_errors(sandbox: BubblewrapSandbox) -> None:
    text(sandbox, "mkfifo /pipe; mkdir /folder; ln -s /absent /dangling; ln -s /loop /loop")
    with pytest.raises(OSError, match="not a regular file"):
        sandbox.read_file("/pipe")
    with pytest.raises(IsADirectoryError):
        sandbox.read_file("/folder")
    with pytest.raises(FileNotFoundError):
        sandbox.read_file("/dangling")
    with pytest.raises(OSError, match="symbolic link"):
        sandbox.read_file("/loop")
    with pytest.raises(IsADirectoryError):
        sandbox.write_file("/folder", b"")
    assert text(sandbox, "echo on") == "on\n"


def test_a_full_disk_is_an_error_of_writing(sandbox: BubblewrapSandbox) -> None:
    machine = BubblewrapSandbox(limits=Limits(disk_bytes=4 << 20))
    try:
        with pytest.raises(OSError, match="No space left"):
            machine.write_file("/big", b"x" * (8 << 20))
    finally:
        machine.close()


def test_a_machine_without_bash_answers(sandbox: BubblewrapSandbox) -> None:
    text(sandbox, "rm -rf --no-preserve-root /usr 2> /dev/null", 60)
    result = sandbox.exec("echo on", timeout=5, max_output=ROOM)
    assert result.exit_code == 127
    assert b"/bin/bash" in result.output


@pytest.mark.parametrize(
    ("timeout", "max_output"), [(0.0, 10), (-1.0, 10), (1e300, 10), (float("nan"), 10), (1.0, -1)]
)
def test_senseless_bounds_are_refused(sandbox: BubblewrapSandbox, timeout: float, max_output: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        sandbox.exec("true", timeout=timeout, max_output=max_output)


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match="processes"):
        Limits(processes=0)


def test_a_dead_sandbox_is_noticed(sandbox: BubblewrapSandbox) -> None:
    os.kill(sandbox.first_process, signal.SIGKILL)
    with pytest.raises(EnvironmentUnavailable, match="died"):
        sandbox.exec("echo on", timeout=5, max_output=ROOM)
    with pytest.raises(EnvironmentUnavailable, match="closed"):
        sandbox.exec("echo on", timeout=5, max_output=ROOM)


def test_a_sandbox_that_dies_within_a_command_is_noticed_at_once(sandbox: BubblewrapSandbox) -> None:
    killer = threading.Timer(0.3, os.kill, (sandbox.first_process, signal.SIGKILL))
    killer.start()
    started = time.monotonic()
    with pytest.raises(EnvironmentUnavailable):
        sandbox.exec("sleep 60", timeout=50, max_output=ROOM)
    killer.join()
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
@pytest.mark.parametrize("size", [99_000, 140_000, 900_000])
def test_a_long_script_is_run_to_its_end(size: int, persistent: bool) -> None:
    need_bubblewrap()
    machine = BubblewrapSandbox(persistent_shell=persistent)
    try:
        script = f"(: <&3) 2> /dev/null || echo closed\ncat\nx='{'ä' * (size // 2)}'\necho ${{#x}}\n(exit 5)"
        result = machine.exec(script, timeout=20, max_output=ROOM)
    finally:
        machine.close()
    assert (result.exit_code, result.output) == (5, f"closed\n{size // 2 * 2}\n".encode())


def test_a_helper_whose_owner_is_gone_ends_in_silence() -> None:
    need_bubblewrap()
    setup = {
        "root": "",
        "bubblewrap": bubblewrap_files(),
        "mapping": asdict(id_mapping()),
        "owner": os.getpid(),
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    with theirs:
        done = subprocess.run(
            helper_command("spawner", setup),
            stdin=theirs.fileno(),
            capture_output=True,
            text=True,
            timeout=20,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


STARTS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
print("begin", flush=True)
while True:
    BubblewrapSandbox().close()
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1])
def test_an_interrupt_while_a_sandbox_starts_makes_the_helper_say_nothing(delay: float) -> None:
    need_bubblewrap()
    command = [sys.executable, "-c", STARTS]
    path = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=path, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        time.sleep(delay)
        os.killpg(owner.pid, signal.SIGINT)
        try:
            said = owner.communicate(timeout=20)[1]
        finally:
            owner.kill()
    assert [name for name in ("spawner.py", "keeper.py", "BrokenPipeError") if name in said] == []
