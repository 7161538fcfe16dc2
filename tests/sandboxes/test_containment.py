"""What a hostile command may try: it gets nowhere, and the sandbox goes on afterwards."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from perdure.sandboxes.limits import Limits
from perdure.sandboxes.sandbox import ExecResult
from tests.sandboxes.availability import need_bubblewrap, need_programs

ROOM = 8_000
MIB = 1 << 20


@pytest.fixture
def machine() -> Iterator[BubblewrapSandbox]:
    """Bounds that are reached quickly."""
    need_bubblewrap()
    made = BubblewrapSandbox(limits=Limits(memory_bytes=256 * MIB, disk_bytes=64 * MIB, processes=100))
    yield made
    assert run(made, "echo alive").output == b"alive\n"
    made.close()


def run(machine: BubblewrapSandbox, command: str, timeout: float = 20.0) -> ExecResult:
    return machine.exec(command, timeout=timeout, max_output=ROOM)


def memory_used(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_fork_bomb_in_the_foreground(machine: BubblewrapSandbox) -> None:
    result = run(machine, "bomb() { bomb | bomb; }; bomb", timeout=2)
    assert len(result.output) <= ROOM
    assert int(run(machine, "ls -d /proc/[0-9]* | wc -l").output) < 10


def test_fork_bomb_in_the_background_leaves_room_for_commands(machine: BubblewrapSandbox) -> None:
    run(machine, "bomb() { bomb | bomb & }; bomb", timeout=2)
    time.sleep(0.5)
    assert run(machine, "echo $((6 * 7)) | cat").output == b"42\n"


def test_fork_bomb_of_many_users(machine: BubblewrapSandbox) -> None:
    program = """
import os, time
started = 0
for user in range(1000, 1300):
    try:
        child = os.fork()
    except BlockingIOError:
        break
    if child == 0:
        os.setuid(user)
        time.sleep(5)
        os._exit(0)
    started += 1
print(started)
"""
    machine.write_file("/bomb.py", program.encode())
    assert 50 < int(run(machine, "python3 /bomb.py").output) <= 100


def test_one_fork_bomb_does_not_starve_another_sandbox(machine: BubblewrapSandbox) -> None:
    other = BubblewrapSandbox()
    try:
        run(machine, "for i in $(seq 90); do sleep 20 & done", timeout=5)
        assert run(other, "for i in $(seq 60); do true & done; wait; echo fine").output == b"fine\n"
    finally:
        other.close()


def test_yes_flood_ends_soon(machine: BubblewrapSandbox) -> None:
    started = time.monotonic()
    result = run(machine, "yes", timeout=60)
    assert time.monotonic() - started < 20
    assert result.truncated
    assert result.exit_code == 137
    assert b"too much output" in result.output
    assert len(result.output) <= ROOM + 100


def test_yes_flood_in_the_background(machine: BubblewrapSandbox) -> None:
    run(machine, "yes &")
    time.sleep(0.5)
    assert run(machine, "echo fine").output == b"fine\n"


def test_four_million_characters(machine: BubblewrapSandbox) -> None:
    before = memory_used(os.getpid())
    result = run(machine, "head -c 4000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert result.exit_code == 0
    assert result.truncated
    assert len(result.output) <= ROOM
    assert result.output.endswith(b"\nend\n")
    assert memory_used(os.getpid()) - before < 16 * MIB


def test_ten_gigabyte_file(machine: BubblewrapSandbox) -> None:
    result = run(machine, "dd if=/dev/zero of=/big bs=1M count=10240; stat -c %s /big; rm /big")
    assert b"No space left" in result.output or b"File too large" in result.output
    size = int(result.output.split()[-1])
    assert size <= 64 * MIB


@pytest.mark.parametrize("folder", ["/dev/shm", "/tmp", "/var/tmp", "/root"])
def test_no_folder_is_a_way_around_the_disk_limit(machine: BubblewrapSandbox, folder: str) -> None:
    script = f"cd {folder} && for i in 1 2 3; do head -c 50M /dev/zero > fill$i; done; du -sm . | cut -f1"
    assert int(run(machine, script).output.split()[-1]) <= 65


def test_many_small_files(machine: BubblewrapSandbox) -> None:
    small = BubblewrapSandbox(limits=Limits(files=500))
    try:
        assert b"No space left" in run(small, "mkdir /many && cd /many && touch $(seq 1000) 2>&1").output
    finally:
        small.close()


def test_memory_hog(machine: BubblewrapSandbox) -> None:
    result = run(machine, "python3 -c 'x = bytearray(3 << 30)'")
    assert result.exit_code == 1
    assert b"MemoryError" in result.output


def test_memory_that_processes_share_since_a_fork_is_counted_once(machine: BubblewrapSandbox) -> None:
    """Six processes with the same 100 MiB hold 100 of the 256 that are allowed, not 600."""
    need_programs(machine, "python3")
    script = (
        "import os, time\n"
        "held = bytes([1]) * (100 << 20)\n"
        "children = [os.fork() or os._exit(time.sleep(2) or 0) for _ in range(5)]\n"
        "print([os.waitpid(child, 0)[1] for child in children])\n"
    )
    result = machine.exec(f"python3 -c '{script}'", timeout=30, max_output=1000)
    assert (result.exit_code, result.output) == (0, b"[0, 0, 0, 0, 0]\n")


def test_memory_hog_of_many_processes(machine: BubblewrapSandbox) -> None:
    hog = "python3 -c 'import time; x = bytearray(150 << 20); time.sleep(30)'"
    started = time.monotonic()
    result = run(machine, f"{hog} & {hog} & {hog} & wait", timeout=25)
    assert result.exit_code == 137
    assert b"out of memory" in result.output
    assert time.monotonic() - started < 20


def test_cpu_time() -> None:
    need_bubblewrap()
    busy = BubblewrapSandbox(limits=Limits(cpu_seconds=1))
    try:
        result = run(busy, "bash -c 'while :; do :; done'", timeout=60)
        assert result.exit_code == 137
        assert not result.timed_out
    finally:
        busy.close()


def test_background_process_that_outlives_its_command_ends_with_the_sandbox() -> None:
    need_bubblewrap()
    made = BubblewrapSandbox()
    try:
        run(made, "setsid nohup sleep 98765 > /dev/null 2>&1 &")
        # The process is there at once, the program in it a moment later.
        assert run(made, "until pgrep sleep; do :; done").output
    finally:
        made.close()
    assert not commands_with("98765")


def commands_with(mark: str) -> list[str]:
    """Command lines on the host that hold a mark, this process and its parents aside."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line and line.startswith("sleep"):
            found.append(line)
    return found


def test_timeout_ends_processes_that_hide(machine: BubblewrapSandbox) -> None:
    script = "setsid bash -c 'trap \"\" TERM HUP; (sleep 87654; touch /late)' & (sleep 87654 &) ; sleep 87654"
    result = run(machine, script, timeout=0.5)
    assert result.timed_out
    assert not commands_with("87654")


def test_timeout_spares_what_ran_before(machine: BubblewrapSandbox) -> None:
    run(
        machine,
        "while :; do sleep 0.05; date +%N > /tmp/next; mv /tmp/next /tmp/ticks; done > /dev/null 2>&1 &",
    )
    assert run(machine, "sleep 60", timeout=0.5).timed_out
    first = run(machine, "cat /tmp/ticks; sleep 0.3; cat /tmp/ticks").output.split()
    assert first[0] != first[1]


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "TERM", "KILL", "STOP", "USR1", "SEGV", "ABRT"])
def test_the_first_process_cannot_be_ended(machine: BubblewrapSandbox, name: str) -> None:
    run(machine, f"kill -{name} 1; sleep 0.1")


def test_kill_everything(machine: BubblewrapSandbox) -> None:
    run(machine, "sleep 50 & sleep 50 & kill -9 -1")
    assert run(machine, "pgrep -c sleep").output == b"0\n"


def test_a_program_that_asks_forever_gets_no_input(machine: BubblewrapSandbox) -> None:
    result = run(machine, "until read -p 'name? ' name; do echo again; sleep 0.1; done", timeout=1)
    assert result.timed_out
    assert b"again" in result.output


def test_files_of_the_host_are_out_of_reach(machine: BubblewrapSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("confidential")
    secret.chmod(0o644)
    seen = run(
        machine, f"cat {secret}; cat /proc/*/root{secret}; cat /oldroot{secret} /mnt/root{secret}"
    ).output
    assert b"confidential" not in seen
    assert run(machine, "ls /mnt /media /srv").output == b"/media:\n\n/mnt:\n\n/srv:\n"


def test_processes_of_the_host_are_out_of_sight(machine: BubblewrapSandbox) -> None:
    seen = run(machine, "cat /proc/1/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l").output
    assert seen.startswith(b"/bin/bash -c trap")
    assert int(seen.split()[-1]) < 10
    assert run(machine, f"kill -0 {os.getpid()}").exit_code == 1
    assert Path("/proc/1/cmdline").read_bytes() not in seen


@pytest.mark.parametrize(
    "command",
    [
        "mknod /tmp/disk b 8 0",
        "mount -t tmpfs none /mnt",
        "mount -o remount,rw /dev",
        "umount /proc",
        "unshare --mount true",
        "chroot / mount -t proc none /mnt",
        "dmesg",
        "sysctl -w kernel.hostname=owned 2>&1 | grep -v denied",
        "echo 1 > /proc/sys/vm/drop_caches",
        "echo b > /proc/sysrq-trigger",
        "cat /proc/kcore",
        "touch /dev/new",
        "hostname other",
        "date -s '2001-02-03'",
        "nice -n -5 true 2>&1 | grep -v cannot",
        "ip link add dummy0 type dummy",
        "reboot -f",
    ],
)
def test_what_only_the_host_may_do_is_refused(machine: BubblewrapSandbox, command: str) -> None:
    assert run(machine, command).exit_code != 0


def test_the_clock_of_the_host_stays(machine: BubblewrapSandbox) -> None:
    before = time.time()
    run(
        machine,
        "date -s '2001-02-03'; python3 -c 'import time; time.clock_settime(time.CLOCK_REALTIME, 1.0)'",
    )
    assert 0 <= time.time() - before < 60


def test_loopback_of_the_host_is_out_of_reach(machine: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(3)
        port = server.getsockname()[1]
        result = run(machine, f"echo hello > /dev/tcp/127.0.0.1/{port}")
        assert result.exit_code == 1
        assert b"Connection refused" in result.output
        with pytest.raises(TimeoutError):
            server.accept()


def test_abstract_sockets_of_the_host_are_out_of_reach(machine: BubblewrapSandbox) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0perdure-test-socket")
        server.listen()
        program = "import socket; socket.socket(socket.AF_UNIX).connect('\\0perdure-test-socket')"
        result = run(machine, f'python3 -c "{program}"')
    assert b"ConnectionRefusedError" in result.output


def test_capabilities_are_few(machine: BubblewrapSandbox) -> None:
    status = run(machine, "grep CapEff /proc/self/status").output.split()[1]
    held = int(status, 16)
    sys_admin, sys_time, mknod, net_raw, sys_ptrace, sys_module = 21, 25, 27, 13, 19, 16
    assert not any(held >> bit & 1 for bit in (sys_admin, sys_time, mknod, net_raw, sys_ptrace, sys_module))


def test_a_user_namespace_of_its_own_gives_no_more_processes(machine: BubblewrapSandbox) -> None:
    script = "su nobody -s /bin/bash -c \"unshare -Ur bash -c 'for i in \\$(seq 150); do sleep 20 & done'\""
    run(machine, script, timeout=5)
    assert int(run(machine, "ls -d /proc/[0-9]* | wc -l").output) <= 101


def test_many_commands_at_once_wait_for_each_other(machine: BubblewrapSandbox) -> None:
    said: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: said.append(run(machine, f"sleep 0.05; echo {n}").output))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [f"{n}\n".encode() for n in range(6)]


@pytest.mark.parametrize("descriptor", range(3))
def test_the_first_process_cannot_be_reached_by_its_descriptors(
    machine: BubblewrapSandbox, descriptor: int
) -> None:
    name = f"/proc/1/fd/{descriptor}"
    run(machine, f"echo garbage > {name}; echo more 1<> {name}; timeout 0.2 head -c 9 {name}", timeout=5)
    time.sleep(0.2)
    run(machine, f"echo garbage >> {name}", timeout=5)


def test_the_first_process_withstands_every_signal(machine: BubblewrapSandbox) -> None:
    run(machine, "for number in {1..64}; do kill -$number 1; done", timeout=5)
    time.sleep(0.2)
