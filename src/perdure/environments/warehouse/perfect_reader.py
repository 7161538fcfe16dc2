"""Plays the warehouse as well as a prompt allows: the information ceiling of a context strategy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from perdure.core.types import Message
from perdure.environments.skillexec.prompt_reading import (
    Block,
    Marked,
    last_block,
    read_messages,
    reply_format,
    split_summary,
    write_reply,
)
from perdure.environments.warehouse.belief import Belief
from perdure.environments.warehouse.parameters import Placement

_SHELVES = re.compile(r"warehouse with ([1-9][0-9]{0,5}) shelves")
_ANY = "may use any empty shelf"
_STATE_KEYS = ("inventory", "inbound", "open_orders")


def perfect_reader(messages: Sequence[Message]) -> str:
    """The best reply to a prompt, in the form that the prompt asks for. Deterministic; never raises."""
    belief = believe(messages)
    # Without a state in the prompt a patch must build one from nothing.
    shown = last_block(messages, "inventory") or {}
    action = belief.decide(messages[-1].text if messages else "")
    belief.assume(action)
    after = belief.state(dict.fromkeys([*_STATE_KEYS, *shown]))
    return write_reply(reply_format(messages), str(action), shown, after)


def perfect_summary(messages: Sequence[Message]) -> str:
    """What a prompt tells of the warehouse, as prose that `perfect_reader` and this function read back."""
    audits = any("audit question" in message.text or "first shelves" in message.text for message in messages)
    return believe(messages).summary(audits=audits)


def believe(messages: Sequence[Message]) -> Belief:
    """State and summary first, wherever they stand, then everything that was said, in order.

    What is said again does no harm: of an item that is touched twice, the last touch is what holds.
    """
    belief = Belief(*_rules(messages))
    marks = [mark for mark in read_messages(messages) if isinstance(mark, Marked)]
    summary, marks = split_summary(marks)
    for topic, text in summary:
        belief.read_summary(topic, text)
    state = last_block(messages, "inventory")
    if state is not None:
        belief.read_state(state)
    follow(belief, marks)
    return belief


def follow(belief: Belief, marks: Iterable[Marked | Block]) -> None:
    """Let a belief hear events, actions and results in their order."""
    for mark in marks:
        if isinstance(mark, Block):
            continue
        if mark.label == "Event":
            belief.read_event(mark.text)
        elif mark.label == "Result":
            belief.read_result(mark.text)
        elif mark.label == "Action":
            belief.read_action(mark.text)


def _rules(messages: Sequence[Message]) -> tuple[Placement, int]:
    """The placement rule and the number of shelves, as the instructions tell them."""
    placement: Placement = "lowest"
    shelves = 500
    for message in messages:
        if message.role == "agent":
            continue
        if found := _SHELVES.search(message.text):
            shelves = int(found[1])
        if _ANY in message.text:
            placement = "any"
    return placement, shelves
