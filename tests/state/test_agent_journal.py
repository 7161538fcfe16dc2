"""What a journal file says: nothing is lost, nothing is told that was not so, nothing else is touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Refusal
from perdure.core.errors import ConfigError, StorageError
from perdure.state import PatchRules
from tests.state.test_agent import Notes, call, make


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "j.jsonl"


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
