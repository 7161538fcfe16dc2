"""Twelve replies written by hand, three for each class of failure."""

from __future__ import annotations

import pytest

from perdure.state import FailureClass, lost_fields
from perdure.state.action import TextActions
from tests.state.places import refused, runtime

STATE = {"inventory": {"shelf_1": "bolt", "shelf_2": "nut"}, "orders": [{"id": 5, "item": "nut"}], "stock": 2}

REPLIES = {
    FailureClass.OVERWRITE: [
        'All shelves are gone.\n```json\n{"state_patch": {"inventory": null}, "action": "Wait"}\n```',
        '```json\n{"state_patch": {"inventory": {"shelf_2": null}}, "action": "Ship bolt shelf_1"}\n```',
        '```json\n{"state_patch": {"orders": "none left"}, "action": "Wait"}\n```',
    ],
    FailureClass.SCHEMA: [
        '```json\n{"state_patch": {"stock": "a few"}, "action": "Wait"}\n```',
        '```json\n{"state_patch": {"inventory": {"shelf_3": ["bolt"]}}, "action": "Wait"}\n```',
        '```json\n{"patch": {"stock": 3}, "action": "Wait"}\n```',
    ],
    FailureClass.SYNTAX: [
        '```json\n{"state_patch": {"stock": 3} "action": "Wait"}\n```',
        "I would store the bolt on shelf_3.",
        '```json\n{"state_patch": {"stock": 3}, "action": "Wait',
    ],
    FailureClass.SEMANTIC: [
        '```json\n{"state_patch": {}, "action": "Fly to shelf_3"}\n```',
        '```json\n{"state_patch": {"stock": 3}, "action": "Store bolt"}\n```',
        '```json\n{"state_patch": {}, "action": "Wait!"}\n```',
    ],
}

ACTIONS = TextActions(r"Store \w+ shelf_\d+|Ship \w+ shelf_\d+|Wait")


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REPLIES.items() for text in texts]
)
def test_each_reply_falls_into_its_class(kind: FailureClass, text: str) -> None:
    assert refused(runtime(STATE, actions=ACTIONS), text, "A bolt arrived.").kind is kind


def test_failures_are_counted_by_class() -> None:
    world = runtime(STATE, actions=ACTIONS)
    for texts in REPLIES.values():
        for text in texts:
            refused(world, text)
    assert world.trace()["counts"] == {"overwrite": 3, "schema": 3, "syntax": 3, "semantic": 3}
    assert len(world.trace()["failures"]) == 12


def test_the_first_cause_decides() -> None:
    both = '```json\n{"state_patch": {"stock": "few", "inventory": {"shelf_1": null}}, "action": "Fly"}\n```'
    assert refused(runtime(STATE, actions=ACTIONS), both).kind is FailureClass.SCHEMA
    deletion = '```json\n{"state_patch": {"inventory": {"shelf_1": null}}, "action": "Fly"}\n```'
    assert refused(runtime(STATE, actions=ACTIONS), deletion).kind is FailureClass.OVERWRITE


def test_lost_fields_are_those_that_were_right_and_no_longer_are() -> None:
    before = {"inventory": {"a": "1", "b": "2", "stale": "x"}, "n": 1}
    truth = {"inventory": {"a": "1", "b": "2", "c": "3"}, "n": 1}
    assert lost_fields(before, {"inventory": {"a": "1", "c": "3"}, "n": 1}, truth) == [("inventory", "b")]
    assert lost_fields(before, {"inventory": {"a": "1", "b": "9"}, "n": 2}, truth) == [
        ("inventory", "b"),
        ("n",),
    ]
    assert lost_fields(before, before, truth) == [], "what was not known cannot be lost"
    assert lost_fields(before, truth, truth) == []
