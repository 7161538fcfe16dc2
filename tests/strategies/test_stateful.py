"""A state beside the history: updates, merges, and updates that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from perdure.core.types import JSON, Completion, Message
from perdure.strategies.state_update import BadUpdate, merged, split_update
from perdure.strategies.stateful import Stateful
from tests.strategies.playing import GOAL, numbered, play, text_of

BROKEN = Path(__file__).parents[2].parent / "shared" / "data" / "parsers"


class Shop(BaseModel):
    stock: dict[str, int] = {}
    open: list[str] = []


def update(body: JSON, action: str = "press") -> tuple[str, str]:
    return f"I think.\nStateUpdate: {json.dumps(body)}\nAction: {action}", "fine"


def state_of(prompt: list[Message]) -> JSON:
    text = text_of(message for message in prompt if message.role == "user")
    return json.loads(text.partition("State:\n```json\n")[2].partition("\n```")[0])


def test_the_state_stands_indented_beside_the_whole_history() -> None:
    *_, prompt = play(Stateful(), [update({"lights": {"a": 1}}), *numbered(30)])
    assert 'State:\n```json\n{\n  "lights": {\n    "a": 1\n  }\n}\n```' in prompt[1].text
    assert len(prompt) == 1 + 1 + 2 * 31
    assert prompt[2].text.startswith("I think.")


def test_the_last_value_of_a_top_level_key_wins() -> None:
    *_, prompt = play(
        Stateful(merge="last_value"), [update({"a": {"x": 1}, "b": 1}), update({"a": {"y": 2}})]
    )
    assert state_of(prompt) == {"a": {"y": 2}, "b": 1}


def test_a_deep_merge_keeps_siblings_and_null_deletes() -> None:
    turns = [update({"a": {"x": 1, "z": 3}, "b": 1}), update({"a": {"y": 2, "z": None}, "c": None})]
    *_, prompt = play(Stateful(), turns)
    assert state_of(prompt) == {"a": {"x": 1, "y": 2}, "b": 1}


def test_a_refused_action_changes_no_state_but_in_the_papers_way() -> None:
    *_, kept = play(Stateful(), [update({"a": 1})], accepted=False)
    *_, changed = play(Stateful(commit="paper"), [update({"a": 1})], accepted=False)
    assert (state_of(kept), state_of(changed)) == ({}, {"a": 1})


def test_the_action_is_what_is_left_of_the_reply() -> None:
    strategy = Stateful()
    for reply in (update({"a": 1})[0], 'Action: press\nStateUpdate: {"a": 1}', "Action: press"):
        action = strategy.absorb(Completion(reply)).action
        assert action is not None
        assert "StateUpdate" not in action
        assert action.endswith("Action: press")


def test_a_declared_schema_gives_fields_and_initial_state() -> None:
    first, *_ = play(Stateful(state_schema=Shop), [])
    assert state_of(first) == {"stock": {}, "open": []}
    assert "- stock: object, key → integer" in first[0].text


def test_the_state_may_stand_last_so_that_the_history_stays_a_prefix() -> None:
    turns = [update({"n": i}) for i in range(6)]
    *_, before, after = play(Stateful(state_position="last"), turns)
    assert before[:-1] == after[: len(before) - 1]
    assert state_of(after) == {"n": 5}
    assert after[1].text.startswith(GOAL)


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        '{"a": 1',
        "[1]",
        "NaN",
        '{"a": NaN}',
        "",
        "{'a': 1}",
        '{"a": ' * 5000,
        '{"a": [' * 100 + "]}" * 100,
    ],
)
def test_a_broken_update_is_recorded_and_the_action_goes_on(broken: str) -> None:
    strategy = Stateful()
    turns = [update({"kept": True}), (f"StateUpdate: {broken}\nAction: press", "fine")]
    *_, prompt = play(strategy, turns)
    assert state_of(prompt) == {"kept": True}
    ((step, error),) = strategy.trace()["bad_updates"]
    assert step == 2
    assert error.startswith("the update")
    absorbed = strategy.absorb(Completion(f"StateUpdate: {broken}\nAction: press"))
    assert absorbed.action is not None
    assert "Action: press" in absorbed.action


@pytest.mark.skipif(not BROKEN.exists(), reason="the collection of broken JSON is not at hand")
def test_no_file_of_the_collections_breaks_it() -> None:
    files = [path for path in BROKEN.rglob("*") if path.is_file() and path.stat().st_size < 200_000]
    assert len(files) > 100
    strategy = Stateful(merge="deep", commit="paper")
    turns = ((f"StateUpdate: {path.read_bytes().decode('utf-8', 'replace')}", "fine") for path in files)
    *_, prompt = play(strategy, turns)
    assert isinstance(state_of(prompt), dict)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_any_object_is_found_again(body: dict[str, JSON]) -> None:
    rest, found = split_update(f"Thought.\nStateUpdate: {json.dumps(body)}\nAction: x")
    assert (rest, found) == ("Thought.\nAction: x", body)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        _, found = split_update(f"StateUpdate:{text}")
    except BadUpdate:
        return
    assert isinstance(found, dict)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.dictionaries(TEXTS, VALUES, max_size=4))
def test_merging_twice_is_merging_once(state: dict[str, JSON], body: dict[str, JSON]) -> None:
    for mode in ("last_value", "deep"):
        once = merged(state, body, mode)
        assert merged(once, body, mode) == once
