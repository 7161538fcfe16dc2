"""Replies of a megabyte cost what the budget allows, not what they hold: the work is counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.types import Completion, Request
from perdure.core.usage import TokenLogprob
from perdure.models.token_estimate import estimate_text
from perdure.state.extract import answer_text, extract
from perdure.state.taxonomy import PatchRejected
from perdure.strategies.prompt_compression import PromptCompression
from perdure.strategies.turn_pieces import most_pieces, turn_pieces
from tests.strategies.playing import WordModel, play, text_of

HOSTILE = {
    "fences": "```" * 333_000,
    "nested": '{"a":' * 200_000,
    "empty objects": "{}" * 300_000,
    "quotes": '"' * 500_000,
    "one word": "a" * 1_000_000,
    "blanks": " " * 1_000_000,
}
hostile = pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE.keys())


def certain(request: Request) -> Completion:
    return Completion("a", logprobs=(TokenLogprob("a", -0.1, {"b": -5.0}),))


@hostile
def test_a_huge_turn_is_scored_at_its_ends_only(reply: str) -> None:
    model = WordModel(certain)
    strategy = PromptCompression(budget_tokens=40, scorer="model", model=model)
    list(play(strategy, [(reply, "the lamp is green")] * 3))
    assert 0 < len(model.requests) <= 3 * most_pieces(40)
    assert strategy.trace()["cut_turns"] == (3 if reply.strip() else 0)


def test_beginning_and_end_of_a_huge_turn_can_stay() -> None:
    strategy = PromptCompression(budget_tokens=40, model=WordModel())
    reply = f"zeppelin {'{} ' * 300_000} xylophone"
    *_, prompt = play(strategy, [(reply, "the lamp is green"), ("look", "end")])
    assert {"zeppelin", "xylophone"} <= set(text_of(prompt).split())


def test_ordinary_turns_are_scored_whole() -> None:
    strategy = PromptCompression(budget_tokens=1_000, model=WordModel())
    list(play(strategy, [("word " * 7_000, "end")]))
    assert strategy.trace()["cut_turns"] == 0


@given(st.text(min_size=1), st.integers(2, 6))
def test_a_cut_turn_is_a_beginning_and_an_end(text: str, most: int) -> None:
    pieces, cut = turn_pieces(text, most)
    assert len(pieces) <= most
    if not cut:
        assert "".join(pieces) == text
        return
    assert any(
        piece == "\n" and text.startswith("".join(pieces[:i])) and text.endswith("".join(pieces[i + 1 :]))
        for i, piece in enumerate(pieces)
    )


@pytest.mark.parametrize("most", range(3, 40))
def test_no_word_is_cut_in_half(most: int) -> None:
    words = {" extraordinarily", " longish", " words"}
    pieces, cut = turn_pieces("".join(sorted(words)) * 200, most)
    assert cut
    assert set(pieces) <= {*words, "\n"}


def calls_of(work: Callable[[], object]) -> Counter[str]:
    """How often each function was called, and functions of C under the empty name."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            counts[frame.f_code.co_name] += 1
        elif event == "c_call":
            counts[""] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counts


@hostile
def test_a_huge_reply_is_scanned_once_and_few_of_its_objects_are_read(reply: str) -> None:
    def read() -> None:
        with suppress(PatchRejected):
            extract(reply, max_chars=2_000_000, max_depth=32)

    counts = calls_of(read)
    assert counts["_balanced"] == 1
    assert counts["read_object"] <= 1 + 16 + 16
    assert calls_of(lambda: answer_text(reply))["_balanced"] == 1


def test_flat_objects_in_a_row_are_not_visited_one_by_one() -> None:
    for reply in ("{}" * 300_000, 'then {"a": "}"}\n' * 100_000):
        assert calls_of(partial(answer_text, reply))[""] < 1_000


def test_the_last_of_many_objects_is_the_answer_whatever_stands_between() -> None:
    answer = '{"state_patch": {"a": {}}, "action": "go"}'
    for aside in ("{} " * 40, '{"a": {}} ' * 40, '{"}": 1} {"b": {"c": {}}} ' * 40):
        found = extract(f"{aside}{answer}{{}}", max_chars=10_000, max_depth=8)
        assert found.text == answer


@given(st.text(st.characters()))
def test_the_estimate_counts_characters_beyond_ascii_one_by_one(text: str) -> None:
    other = sum(ord(character) > 127 for character in text)
    assert estimate_text(text) == other + -(-(len(text) - other) // 4)
