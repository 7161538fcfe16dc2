"""What damage to a call log costs: calls, never another result."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.errors import ModelError
from perdure.core.model import Outcome
from perdure.core.outcome_json import decode_outcome, encode_outcome
from perdure.core.parts import Reasoning, Text, ToolCall
from perdure.core.types import Completion, Observation, SessionStatus
from perdure.core.usage import TokenLogprob, Usage
from perdure.storage.call_log import CallLog
from tests.storage.logs import make, number, opened, recall, three_events


def test_any_flipped_bit_costs_at_most_calls(tmp_path: Path) -> None:
    three_events(tmp_path)
    path = tmp_path / "0.jsonl"
    whole = path.read_bytes()
    draw = random.Random(5)
    for place in draw.sample(range(len(whole)), 250):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        for aside in tmp_path.glob("*.aside-*"):
            aside.unlink()
        with opened(tmp_path) as log:
            for text in ("a", "b"):
                assert recall(log, text) in (Completion(text), None), f"bit flipped in byte {place}"
                if text == "a":
                    assert log.observe(Observation("seen")) == Observation("seen")
            log.check_complete()
            assert log.times.divergences == 0
            calls = log.calls
        with opened(tmp_path) as log:  # what was asked again is served now
            assert recall(log, "a") == calls[0].outcome
            log.observe(Observation("seen"))
            assert recall(log, "b") == calls[1].outcome


@pytest.mark.parametrize("line", range(6))
@pytest.mark.parametrize("garbage", [b"{", b"5", b"[]", b"{}", b"null", b"\xff\xfe", b'{"is":"restart"}'])
def test_a_damaged_line_costs_itself_and_what_follows(tmp_path: Path, line: int, garbage: bytes) -> None:
    three_events(tmp_path)
    path = tmp_path / "0.jsonl"
    lines = path.read_bytes().splitlines()
    assert len(lines) == 6
    lines[line] = garbage
    path.write_bytes(b"\n".join(lines) + b"\n")
    with opened(tmp_path) as log:
        assert (recall(log, "a") is not None) == (line > 2)
        log.observe(Observation("seen" if line > 3 else "anything"))
        assert recall(log, "b") is None
        make(log, "new")
        assert log.times.damaged == int(line > 0), (
            "the damaged first line lies with the log that was set aside"
        )
    with opened(tmp_path) as log:
        recall(log, "a")
        log.observe(Observation("seen" if line > 3 else "anything"))
        recall(log, "b")
        assert number(log, "new").recorded == Completion("new")


TEXTS = st.text(st.characters(codec=None, exclude_categories=()))

parts = st.one_of(
    st.builds(Text, TEXTS.filter(bool)), st.builds(Reasoning, TEXTS), st.builds(ToolCall, TEXTS, TEXTS, TEXTS)
)
completions = st.builds(
    Completion,
    content=st.one_of(TEXTS, st.lists(parts, max_size=3)),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
    usage=st.builds(Usage, *[st.integers(0, 10**9)] * 4),
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


def replay(log: CallLog, events: list[tuple[str, Completion] | Observation]) -> int:
    """Re-execute; how many calls had to be asked."""
    asked = 0
    for event in events:
        if isinstance(event, Observation):
            log.observe(event)
            continue
        text, completion = event
        call = number(log, text)
        if call.recorded is None:
            asked += 1
            log.ask(call)
            log.answer(call, completion, 0.1)
        else:
            assert call.recorded == completion
    return asked


@settings(max_examples=150)
@given(histories, st.integers(0, 10**6))
def test_cut_at_any_byte_the_rest_is_replayed_and_only_the_lost_calls_are_asked(
    events: list[tuple[str, Completion] | Observation], position: int
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "0.jsonl"
        with opened(folder) as log:
            calls = replay(log, events)
        data = path.read_bytes()
        cut = position % (len(data) + 1)
        path.write_bytes(data[:cut])
        answered = data[:cut].rpartition(b"\n")[0].count(b'{"is":"answered"')
        with opened(folder) as log:
            asked = replay(log, events)
            log.check_complete()
            assert asked == calls - answered
            assert log.times.divergences == log.times.damaged == 0
            assert len(log.calls) == calls
            lost = sum(charge.answered == "unanswered" for charge in log.charges)
            assert lost <= 1
            assert len(log.charges) == calls + lost
