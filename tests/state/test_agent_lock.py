"""One open agent a journal: whoever else wants it is told so in one line, and no line is ever lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Refusal, StateAgent
from perdure.core.errors import ConfigError, StorageError, UsageError
from perdure.state import PatchRules
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


@pytest.mark.parametrize(
    "content", [b"my notes", b"my notes\n", b'{"a": 1}', b'{"kind":"schema","v":1}\n', b"\n"]
)
def test_a_file_of_something_else_stays_as_it_is(journal: Path, content: bytes) -> None:
    journal.write_bytes(content)
    with pytest.raises(ConfigError, match=r"^journal = '[^\n]*$"):
        make(journal=journal)
    assert journal.read_bytes() == content


@pytest.mark.parametrize("size", [0, 1, 10, 40])
def test_a_first_line_that_was_cut_short_begins_anew(journal: Path, size: int) -> None:
    make(journal=journal)[0].close()
    journal.write_bytes(journal.read_bytes()[:size])
    make(journal=journal)[0].close()
    make(journal=journal)[0].close()


def test_a_damaged_line_is_named(journal: Path) -> None:
    with make(call("look", {"count": 1}, place="a"), call("finish", answer=""), journal=journal)[0] as agent:
        agent.run("g")
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        for position in range(0, len(line) - 1, 7):
            start = sum(map(len, lines[: number - 1]))
            place = start + position
            journal.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(
                ConfigError, match=rf"line {number} cannot be read|not the journal of an agent"
            ):
                make(journal=journal)


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
    with tempfile.TemporaryDirectory() as name:  # one that other users may enter
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


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file can grow beyond a size, as on a disk that is full."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("room", [10, 300])
@pytest.mark.parametrize("outcome", ["returns", "refuses", "raises"])
def test_what_a_full_disk_did_not_take_is_written_once_there_is_room(
    journal: Path, outcome: str, room: int
) -> None:
    calls: list[str] = []

    def act(name: str) -> str:
        calls.append(name)
        if outcome == "refuses":
            raise Refusal("no" * 300)
        if outcome == "raises":
            raise KeyError("broken" * 100)
        return "x" * 500

    agent, _ = make(
        call("act", {"count": 1}, name="one"),
        call("act", {"notes": {"a": "b"}}, name="two"),
        *[call("finish", answer="end")] * 3,
        journal=journal,
        tools=[act],
    )
    with files_end_at(journal.stat().st_size + room), pytest.raises((StorageError, KeyError)) as caught:
        agent.step("go")
    of_the_tool = room == 300 and outcome == "raises"
    assert isinstance(caught.value, KeyError if of_the_tool else StorageError)
    with files_end_at(journal.stat().st_size), pytest.raises(StorageError):
        agent.step("again")
    assert calls == ([] if room == 10 else ["one"]), "without its line before, no call is made"
    for _ in range(3):
        try:
            agent.run("g", max_steps=1)
        except KeyError:
            continue
    state = agent.state
    agent.close()
    with make(journal=journal)[0] as again:
        assert again.state == state
    assert len(calls) == len(set(calls))
    committed = room == 300 and outcome == "returns"
    assert state.count == committed, "the patch of a call that was made and accepted stays"


def test_a_call_that_was_not_made_for_want_of_room_is_not_told_as_made(journal: Path) -> None:
    agent, _ = make(call("look", {"count": 1}, place="door"), journal=journal)
    agent.run("g", max_steps=0)
    with files_end_at(journal.stat().st_size + 10), pytest.raises(StorageError):
        agent.run("g")
    agent.close()
    again, model = make(call("finish", answer=""), journal=journal)
    again.run("g")
    assert "interrupted" not in model.prompt(0)[1].text
    again.close()


def test_a_line_that_was_written_twice_counts_once(journal: Path) -> None:
    replies = call("look", {"count": 1}, place="door"), call("finish", {"count": 2}, answer="")
    with make(*replies, journal=journal)[0] as agent:
        agent.run("g")
        trace = agent.trace()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line * 2 for line in lines))
    with make(journal=journal)[0] as agent:
        assert agent.trace() == trace


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


def test_what_happens_between_two_lines_is_told(journal: Path) -> None:
    """The journal of a killed call says so, and the state is that before it."""
    agent, _ = make(call("look", {"count": 1}, place="door"), call("look", place="a"), journal=journal)
    agent.run("g", max_steps=1)
    agent.close()
    lines = journal.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["schema", "run", "call", "outcome"]
    assert json.loads(lines[-1])["outcome"] == "accepted"
    journal.write_bytes(b"".join(lines[:-1]))
    again, model = make(call("finish", answer=""), journal=journal)
    again.run("g")
    assert again.state == Notes()
    prompt: Any = model.prompt(0)[1].text
    assert "was interrupted. Whether it took effect is unknown." in prompt
    again.close()


@given(st.lists(st.sampled_from(["returns", "refuses", "raises", "hm"]), max_size=6), st.data())
def test_every_prefix_of_a_journal_is_a_state_that_the_agent_had(
    tmp_path_factory: pytest.TempPathFactory, fates: list[str], data: Any
) -> None:
    """Whatever becomes of the calls and wherever the file ends, what was accepted is there, once."""
    journal = tmp_path_factory.mktemp("any") / "j.jsonl"

    def act(fate: str) -> str:
        if fate == "refuses":
            raise Refusal("no")
        if fate == "raises":
            raise KeyError("broken")
        return "done"

    replies = [
        "hm" if fate == "hm" else call("act", {"notes": {str(number): fate}}, fate=fate)
        for number, fate in enumerate(fates)
    ]
    options: Any = {"tools": [act], "patches": PatchRules(retries=0), "journal": journal}
    with make(*replies, **options)[0] as agent:
        for _ in fates:
            with suppress(KeyError):
                agent.run("g", max_steps=1)
    whole = journal.read_bytes()
    end = data.draw(st.integers(whole.find(b"\n") + 1, len(whole)))
    journal.write_bytes(whole[:end])
    lines = [json.loads(line) for line in whole[:end].split(b"\n")[:-1]]
    told = [line["outcome"] for line in lines if line["kind"] == "outcome"]
    with make(call("finish", answer="end"), **options)[0] as agent:
        names = {"returns": "accepted", "refuses": "refused", "raises": "raised", "hm": "none"}
        assert told == [names[fate] for fate in fates[: len(told)]]
        accepted = {str(number): "returns" for number, fate in enumerate(told) if fate == "accepted"}
        assert agent.state.notes == accepted
        result = agent.run("g")
        assert (result.finished, result.state.notes) == (True, accepted)
