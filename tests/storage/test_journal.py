"""The journal by itself: what it serves, what it refuses to serve, and what damage to its file costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.errors import Divergence, ModelError
from perdure.core.model import Outcome
from perdure.core.types import (
    Completion,
    Message,
    Observation,
    Request,
    SessionStatus,
    TokenLogprob,
    ToolCall,
    Usage,
)
from perdure.storage.journal import Journal, OnDivergence, decode_outcome, encode_outcome

TEXTS = st.text(st.characters(codec=None, exclude_categories=()))


def request(text: str) -> Request:
    return Request((Message("user", text),))


@contextmanager
def opened(
    folder: Path, on_divergence: OnDivergence = "restart", task: str = "t", index: int = 0
) -> Iterator[Journal]:
    journal = Journal(
        folder / "journal.jsonl", on_divergence=on_divergence, normalise=lambda text: text.split("<")[0]
    )
    journal.begin(index, task, 0)
    try:
        yield journal
    finally:
        journal.close()


def note(journal: Journal, text: str, outcome: Outcome | None = None, seconds: float = 0.5) -> None:
    journal.note("agent", "m", request(text), f"digest of {text}", outcome or Completion(text), seconds)


def recall(journal: Journal, text: str, caller: str = "agent") -> tuple[Outcome, float] | None:
    return journal.recall(caller, "m", request(text), f"digest of {text}")


def three_events(folder: Path) -> None:
    with opened(folder) as journal:
        note(journal, "a")
        journal.observe(Observation("seen"))
        note(journal, "b")


def test_calls_are_served_in_order_and_then_no_more(tmp_path: Path) -> None:
    three_events(tmp_path)
    with opened(tmp_path) as journal:
        assert recall(journal, "a") == (Completion("a"), 0.5)
        journal.observe(Observation("seen"))
        assert recall(journal, "b") == (Completion("b"), 0.5)
        assert recall(journal, "c") is None
        assert [call.request for call in journal.calls] == [request("a"), request("b")]
        note(journal, "c")
        assert len(journal.calls) == 3
        journal.settle()
    with opened(tmp_path) as journal:
        assert recall(journal, "a") is not None
        journal.observe(Observation("seen"))
        assert recall(journal, "b") is not None
        assert recall(journal, "c") == (Completion("c"), 0.5)


def test_how_often_a_task_was_taken_up_is_counted_over_many_interruptions(tmp_path: Path) -> None:
    for interruptions in range(3):
        with opened(tmp_path) as journal:
            assert journal.restarts == interruptions
    three_events(tmp_path)
    for interruptions in range(4, 7):
        with opened(tmp_path) as journal:
            assert journal.restarts == interruptions
            assert recall(journal, "a") is not None, "the record is kept"


@pytest.mark.parametrize("other", [{"task": "u"}, {"index": 1}])
def test_the_record_of_another_task_is_dropped(tmp_path: Path, other: dict[str, str | int]) -> None:
    three_events(tmp_path)
    task, index = str(other.get("task", "t")), int(other.get("index", 0))
    with opened(tmp_path, task=task, index=index) as journal:
        assert recall(journal, "a") is None
        assert (journal.restarts, journal.divergences) == (0, 0)
    with opened(tmp_path) as journal:
        assert recall(journal, "a") is None


def test_the_record_of_a_committed_task_is_dropped(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        note(journal, "a")
        journal.end()
        assert journal.calls == []
    assert (tmp_path / "journal.jsonl").read_bytes() == b""
    with opened(tmp_path) as journal:
        assert recall(journal, "a") is None
        assert journal.restarts == 0


def differing_call(journal: Journal) -> None:
    recall(journal, "z")


def differing_caller(journal: Journal) -> None:
    recall(journal, "a", caller="critic")


def observation_instead_of_call(journal: Journal) -> None:
    journal.observe(Observation("seen"))


def differing_observation(journal: Journal) -> None:
    recall(journal, "a")
    journal.observe(Observation("seen otherwise"))


def refused_observation(journal: Journal) -> None:
    recall(journal, "a")
    journal.observe(Observation("seen", accepted=False))


def terminal_observation(journal: Journal) -> None:
    recall(journal, "a")
    journal.observe(Observation("seen", status=SessionStatus.COMPLETED))


def call_instead_of_observation(journal: Journal) -> None:
    recall(journal, "a")
    recall(journal, "b")


def early_end(journal: Journal) -> None:
    recall(journal, "a")
    journal.settle()


DIFFERENCES = [
    differing_call,
    differing_caller,
    observation_instead_of_call,
    differing_observation,
    refused_observation,
    terminal_observation,
    call_instead_of_observation,
    early_end,
]


@pytest.mark.parametrize("differ", DIFFERENCES)
def test_a_difference_restarts_the_task(tmp_path: Path, differ: object) -> None:
    assert callable(differ)
    three_events(tmp_path)
    with opened(tmp_path) as journal:
        with pytest.raises(Divergence, match="the task starts again"):
            differ(journal)
        journal.discard()
        journal.begin(0, "t", 0)
        assert journal.divergences == 1
        assert recall(journal, "a") is None
    with opened(tmp_path) as journal:
        assert journal.divergences == 1, "counted across processes"


@pytest.mark.parametrize("differ", DIFFERENCES)
def test_a_difference_may_be_kept_and_drops_the_rest_of_the_record(tmp_path: Path, differ: object) -> None:
    assert callable(differ)
    three_events(tmp_path)
    with opened(tmp_path, "keep") as journal:
        differ(journal)
        assert journal.divergences == 1
        assert recall(journal, "b") is None
        note(journal, "new")
    assert "digest of b" not in (tmp_path / "journal.jsonl").read_text()
    with opened(tmp_path, "keep") as journal:
        assert (journal.divergences, journal.restarts) == (1, 2), "counted across processes"


def test_observations_are_compared_and_kept_normalised(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.observe(Observation("took <3 s>"))
    assert "3 s" not in (tmp_path / "journal.jsonl").read_text()
    with opened(tmp_path) as journal:
        journal.observe(Observation("took <4 s>"))
        assert journal.divergences == 0


def test_the_clock_stands_where_it_stood(tmp_path: Path) -> None:
    three_events(tmp_path)
    path = tmp_path / "journal.jsonl"
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, at in zip(lines, (10.0, 20.0, 300.0), strict=True):
        line["at"] = at
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *lines]))
    with opened(tmp_path) as journal:
        assert journal.seconds == 9.5, "the first call began then"
        recall(journal, "a")
        assert journal.seconds == 10.0
        journal.observe(Observation("seen"))
        assert journal.seconds == 299.5
        recall(journal, "b")
        assert 300.0 <= journal.seconds < 310.0, "from here on it runs"


@pytest.mark.parametrize("line", [0, 1, 2, 3])
@pytest.mark.parametrize("garbage", [b"{", b"5", b"[]", b"{}", b"null", b'"at"', b"\xff\xfe", b'{"at": 1}'])
def test_a_damaged_line_costs_itself_and_what_follows(tmp_path: Path, line: int, garbage: bytes) -> None:
    three_events(tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    lines[line] = garbage
    path.write_bytes(b"\n".join(lines) + b"\n")
    with opened(tmp_path) as journal:
        assert (recall(journal, "a") is not None) == (line > 1)
        if line == 2:
            assert recall(journal, "b") is None
        if line == 3:
            journal.observe(Observation("seen"))
            assert recall(journal, "b") is None
        note(journal, "new")
    assert all(json.loads(text) for text in path.read_text().splitlines())


completions = st.builds(
    Completion,
    text=TEXTS,
    finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
    usage=st.builds(Usage, *[st.integers(0, 10**9)] * 4),
    tool_calls=st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    logprobs=st.lists(
        st.builds(TokenLogprob, TEXTS, st.floats(-50, 0), st.dictionaries(TEXTS, st.floats(-50, 0))),
        max_size=2,
    ).map(tuple),
)
model_errors = st.builds(
    ModelError, TEXTS, st.sampled_from([status for status in SessionStatus if status.is_abnormal_inference])
)


def same_outcome(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, ModelError) and isinstance(other, ModelError):
        return (str(one), one.status) == (str(other), other.status)
    return one == other


@given(st.one_of(completions, model_errors))
def test_every_outcome_survives_json(outcome: Outcome) -> None:
    assert same_outcome(decode_outcome(json.loads(json.dumps(encode_outcome(outcome)))), outcome)


observations = st.builds(Observation, TEXTS, accepted=st.booleans())
histories = st.lists(st.one_of(st.tuples(TEXTS, completions), observations), max_size=6)


def replay(journal: Journal, events: list[tuple[str, Completion] | Observation]) -> int:
    """Re-execute; how many calls had to be asked."""
    asked = 0
    for event in events:
        if isinstance(event, Observation):
            journal.observe(event)
            continue
        text, completion = event
        served = recall(journal, text)
        if served is None:
            asked += 1
            note(journal, text, completion)
        else:
            assert served[0] == completion
    return asked


@settings(max_examples=150)
@given(histories, st.integers(0, 10**6))
def test_cut_at_any_byte_the_rest_is_replayed_and_only_the_lost_calls_are_asked(
    events: list[tuple[str, Completion] | Observation], position: int
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "journal.jsonl"
        with opened(folder) as journal:
            calls = replay(journal, events)
        data = path.read_bytes()
        cut = position % (len(data) + 1)
        path.write_bytes(data[:cut])
        left = data[:cut].count(b"\n")
        kept = events[: max(0, left - 1)]
        with opened(folder) as journal:
            asked = replay(journal, events)
            journal.settle()
            assert asked == calls - sum(not isinstance(event, Observation) for event in kept)
            assert journal.divergences == 0
            assert len(journal.calls) == calls
            assert all(call.request is not None for call in journal.calls)
