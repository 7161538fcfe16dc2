"""Nothing stays behind: no process, no mount, no matter how a sandbox or its owner ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from perdure.core.errors import EnvironmentUnavailable
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from tests.sandboxes.availability import need_bubblewrap

PATIENCE = 10.0


def command_lines() -> dict[int, str]:
    """Process id → command line, of every process of this machine."""
    lines = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines[int(folder.name)] = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue
    return lines


def with_mark(mark: str) -> list[int]:
    return [process for process, line in command_lines().items() if mark in line and process != os.getpid()]


def sleepers(seconds: str) -> list[int]:
    """Processes that are `sleep` with this many seconds."""
    return [process for process, line in command_lines().items() if line.startswith(f"sleep {seconds}")]


def helpers_of(owner: int) -> list[int]:
    return with_mark(f'"owner": {owner}}}')


def descendants(process: int) -> list[int]:
    """Every process below this one. Others on this machine may run sandboxes of their own meanwhile."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below, found = [process], []
    while below:
        parent = below.pop()
        children = [child for child, its in parents.items() if its == parent]
        found += children
        below += children
    return found


def keepers() -> list[int]:
    """What runs below this process's helpers."""
    return [process for helper in helpers_of(os.getpid()) for process in descendants(helper)]


def eventually(condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def play(tasks: int) -> None:
    need_bubblewrap()
    BubblewrapSandbox().close()
    mounts = Path("/proc/mounts").read_text()
    # One helper stays for each root file system that this process has used.
    assert eventually(lambda: not keepers()), "a sandbox of another test is open"
    helpers = helpers_of(os.getpid())
    for number in range(tasks):
        machine = BubblewrapSandbox()
        try:
            script = f"useradd user{number}; sleep 4{number:06} & setsid sleep 4{number:06} &"
            machine.exec(script, timeout=20, max_output=100)
            if number % 7 == 0:
                assert eventually(partial(sleepers, f"4{number:06}")), "the test sees nothing"
                machine.exec("sleep 60", timeout=0.05, max_output=100)
        finally:
            machine.close()
    assert not sleepers("4000"), "processes are left"
    assert eventually(lambda: helpers_of(os.getpid()) == helpers), "a keeper is left"
    assert Path("/proc/mounts").read_text() == mounts
    assert eventually(lambda: not keepers()), "something below a helper is left"


def test_nothing_is_left_after_some_tasks() -> None:
    play(30)


@pytest.mark.full
def test_nothing_is_left_after_a_thousand_tasks() -> None:
    play(1_000)


OWNER = """
    import sys, threading, time
    from perdure.sandboxes.bubblewrap import BubblewrapSandbox
    machines = [BubblewrapSandbox(persistent_shell=bool(i % 2)) for i in range(3)]
    def work(machine):
        machine.exec("setsid sleep 7654321 & sleep 7654321", timeout=100, max_output=100)
    for machine in machines:
        threading.Thread(target=work, args=(machine,), daemon=True).start()
    print("ready", flush=True)
    {last}
"""


def start_owner(last: str) -> subprocess.Popen[str]:
    """A program with three busy sandboxes, in a session of its own."""
    need_bubblewrap()
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER).format(last=last)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    assert eventually(lambda: len(sleepers("7654321")) >= 6), "the sandboxes are not busy"
    assert len(helpers_of(owner.pid)) > 3
    return owner


def assert_all_gone(owner: subprocess.Popen[str]) -> None:
    assert eventually(lambda: not sleepers("7654321")), "commands are left"
    assert eventually(lambda: not helpers_of(owner.pid)), "helpers are left"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_nothing_is_left_when_the_owner_is_killed(how: signal.Signals) -> None:
    with start_owner("time.sleep(100)") as owner:
        owner.send_signal(how)
        assert owner.wait(PATIENCE) != 0
        assert_all_gone(owner)


def test_nothing_is_left_when_the_owner_forgets_to_close() -> None:
    with start_owner("time.sleep(1.5)") as owner:
        assert owner.wait(PATIENCE) == 0
        assert_all_gone(owner)


def test_a_child_that_inherits_everything_keeps_nothing_alive() -> None:
    last = "import os; os.fork() or time.sleep(8); time.sleep(100)"
    with start_owner(last) as owner:
        owner.kill()
        owner.wait(PATIENCE)
        assert_all_gone(owner)
        os.killpg(owner.pid, signal.SIGKILL)


def test_sandboxes_end_with_their_helper_and_the_next_one_gets_another() -> None:
    need_bubblewrap()
    machine = BubblewrapSandbox()
    helper = next(helper for helper in sorted(helpers_of(os.getpid())) if descendants(helper))
    failure: list[BaseException] = []

    def work() -> None:
        try:
            machine.exec("sleep 1234567", timeout=60, max_output=100)
        except EnvironmentUnavailable as error:
            failure.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert eventually(lambda: bool(sleepers("1234567")))
    os.kill(helper, signal.SIGKILL)
    thread.join(PATIENCE)
    assert failure
    assert eventually(lambda: not sleepers("1234567"))
    again = BubblewrapSandbox()
    assert again.exec("echo on", timeout=5, max_output=100).output == b"on\n"
    again.close()


def test_an_interrupt_while_a_command_runs_closes_the_sandbox() -> None:
    need_bubblewrap()
    machine = BubblewrapSandbox()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.exec("sleep 2345678", timeout=60, max_output=100)
    timer.join()
    assert eventually(lambda: not sleepers("2345678"))
    with pytest.raises(EnvironmentUnavailable):
        machine.exec("true", timeout=5, max_output=100)
