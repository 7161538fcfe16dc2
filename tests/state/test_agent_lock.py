"""One open agent a journal: whoever else wants it is told so in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure import StateAgent
from perdure.core.errors import ConfigError, StorageError, UsageError
from tests.state.test_agent import Notes, call, make

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}

OPENED = """
import sys
from perdure.state import PatchRules
from tests.state.test_agent import make
from perdure.core.errors import ConfigError
try:
    agent, _ = make(journal=sys.argv[1])
except ConfigError as error:
    print(error)
    sys.exit(2)
print("open", flush=True)
sys.stdin.read()
"""


def opened(journal: Path) -> subprocess.Popen[str]:
    """A process that holds a journal until its input ends."""
    command = [sys.executable, "-c", OPENED, str(journal)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True)


def told(journal: Path) -> str:
    """What somebody hears who wants a journal that is held; nothing about it changes."""
    before = journal.read_bytes()
    with pytest.raises(ConfigError) as caught:
        make(journal=journal)
    assert journal.read_bytes() == before
    line = str(caught.value)
    assert line == f"journal = {str(journal)!r}: another open agent holds it; " + (
        "close() that one first, or take another file"
    )
    return line


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "j.jsonl"


def test_a_second_agent_in_this_process_is_refused_until_the_first_is_closed(journal: Path) -> None:
    first, _ = make(call("look", {"count": 1}, place="door"), call("finish", answer="x"), journal=journal)
    told(journal)
    assert first.run("g").finished, "the first is not disturbed"
    told(journal)
    first.close()
    first.close()
    with make(journal=journal)[0] as second:
        assert second.state.count == 1
        told(journal)
    make(journal=journal)[0].close()


def test_a_forgotten_agent_holds_nothing(journal: Path) -> None:
    make(journal=journal)
    make(journal=journal)[0].close()


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_another_name_of_the_file_is_the_same_journal(journal: Path, link: Callable[..., None]) -> None:
    with make(journal=journal)[0]:
        other = journal.with_name("other.jsonl")
        link(journal, other)
        told(other)


def test_of_many_threads_one_gets_the_journal(journal: Path) -> None:
    agents: list[StateAgent] = []
    refused: list[str] = []
    barrier = threading.Barrier(16)

    def build() -> None:
        barrier.wait()
        try:
            agents.append(make(journal=journal)[0])
        except ConfigError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=build) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(agents), len(refused)) == (1, 15)
    assert len(journal.read_bytes().splitlines()) == 1
    agents[0].close()


def test_another_process_is_refused_and_a_killed_one_frees_the_journal(journal: Path) -> None:
    with opened(journal) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        told(journal)
        with opened(journal) as late:
            output, _ = late.communicate(timeout=60)
        assert (late.returncode, output.count("\n")) == (2, 1)
        assert "another open agent holds it" in output
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
    make(journal=journal)[0].close()


def test_many_processes_at_once_leave_one_whole_journal(journal: Path) -> None:
    processes = [opened(journal) for _ in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert "open\n" in outputs
    assert all(output == "open\n" or "another open agent" in output for output in outputs)
    make(journal=journal)[0].close()
    assert len(journal.read_bytes().splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_neither_writes_nor_keeps_the_journal(journal: Path) -> None:
    agent, model = make(call("look", place="door"), journal=journal)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            agent.step("go")
            os.write(writing, b"stepped")
        except StorageError as error:
            os.write(writing, b"asked" if model.requests else str(error).encode())
        os.read(reading, 0)
        signal.pause()
    try:
        assert "its process was forked" in os.read(reading, 1000).decode()
        told(journal)
        agent.close()
        make(journal=journal)[0].close()  # although the child lives
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_a_journal_that_does_not_fit_is_not_held(journal: Path) -> None:
    make(journal=journal)[0].close()
    with pytest.raises(ConfigError, match="does not fit") as caught:
        make(journal=journal, state={"type": "object", "properties": {}, "additionalProperties": False})
    make(journal=journal)[0].close()
    assert caught.tb is not None, "also as long as somebody looks at the error"


@pytest.mark.parametrize("how", ["closed", "removed", "replaced"])
def test_an_agent_without_its_journal_asks_nothing_and_does_nothing(journal: Path, how: str) -> None:
    agent, model = make(call("look", {"count": 1}, place="door"), journal=journal)
    if how == "closed":
        agent.close()
    else:
        journal.rename(journal.with_suffix(".old"))
    if how == "replaced":
        journal.touch()
    with pytest.raises(StorageError, match=r"not held any more.*build the agent again"):
        agent.run("g")
    assert model.requests == []
    agent.close()


def test_a_folder_that_cannot_be_written_is_one_line() -> None:
    with pytest.raises(StorageError) as caught:
        make(journal="/proc/below/j.jsonl")
    assert str(caught.value).startswith("cannot write '/proc/below/j.jsonl'")
    assert "\n" not in str(caught.value)


READ_ONLY = """
import os, sys
from pathlib import Path
from perdure.state import PatchRules
from tests.state.test_agent import make
from perdure.core.errors import StorageError
make(journal=Path(sys.argv[1]) / "file.jsonl")[0].close()  # everything is imported
(Path(sys.argv[1]) / "file.jsonl").chmod(0o444)
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
for name in ("folder/new.jsonl", "file.jsonl"):
    try:
        make(journal=Path(sys.argv[1]) / name)
    except StorageError as error:
        print(error)
"""


def test_a_read_only_folder_or_file_is_one_line() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # one that other users may enter
        place = Path(name)
        (place / "folder").mkdir()
        (place / "folder").chmod(0o555)
        place.chmod(0o755)
        command = [sys.executable, "-c", READ_ONLY, name]
        done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"cannot write {str(place / file)!r}" for file in ("folder/new.jsonl", "file.jsonl")
    ], done.stderr
    assert all("Permission denied" in line for line in lines)


def test_one_step_at_a_time(journal: Path) -> None:
    agents: list[StateAgent] = []
    errors: list[str] = []

    def reenter() -> str:
        for _ in range(2):
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()
        attempt()
        return "done"

    def attempt() -> None:
        try:
            agents[0].step("again")
        except UsageError as error:
            errors.append(str(error))

    agent, model = make(call("reenter", {"count": 1}), journal=journal, tools=[reenter])
    agents.append(agent)
    assert agent.step("go").accepted
    assert errors == ["a step of this agent is under way; one at a time"] * 3
    assert (agent.state, len(model.requests)) == (Notes(count=1), 1)
    agent.close()
