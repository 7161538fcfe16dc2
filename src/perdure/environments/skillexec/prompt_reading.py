"""What perfect readers share: finding an environment's texts in a prompt, writing the reply it asks for.

A perfect reader is a deterministic program that plays as well as possible with what its prompt contains. The
strategy decides what that is; the reader must find it wherever it stands: in messages, in a transcript pasted
into one message, in a state block, in a summary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from perdure.core.types import JSON, Message

ReplyFormat: TypeAlias = Literal["action", "patch", "update", "deep_update"]
"""A plain `Action:` line, a fenced `state_patch` and `action`, or `StateUpdate:` (whole fields, or only what
changes in them) with an `Action:` line."""

_MARK = re.compile(
    r"\b(?P<label>Event|Result|Action|Summary of [a-z ]{1,40}): (?P<text>.*)|^[ \t]*(?P<json>\{)", re.M
)
_SUMMARY = "Summary of "
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Marked:
    """A labelled line: `Event`, `Result`, `Action` or `Summary of …`."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A JSON object that begins a line, fenced or not."""

    value: Mapping[str, JSON]


def read_messages(messages: Sequence[Message]) -> Iterator[Marked | Block]:
    """Everything recognisable, in the order of the prompt; a reply's `action` becomes an `Action` line.

    What stands in the instructions are examples, and lessons of other tasks: nothing of it happened.
    """
    for message in messages:
        if message.role != "system":
            yield from _read_text(message.text)


def last_block(messages: Sequence[Message], key: str) -> Mapping[str, JSON] | None:
    """The last JSON object outside the agent's replies with `key` at its top: the state, if one is shown."""
    for message in reversed(messages):
        if message.role == "agent":
            continue
        for mark in reversed(_read_text(message.text)):
            if isinstance(mark, Block) and key in mark.value:
                return mark.value
    return None


def split_summary(marks: Sequence[Marked]) -> tuple[list[tuple[str, str]], list[Marked]]:
    """The topics and texts of a summary, and what comes after it; what comes before is in it already."""
    last = max((i for i, mark in enumerate(marks) if mark.label.startswith(_SUMMARY)), default=-1)
    told = [mark for mark in marks[: last + 1] if mark.label.startswith(_SUMMARY)]
    return [(mark.label.removeprefix(_SUMMARY), mark.text) for mark in told], list(marks[last + 1 :])


def reply_format(messages: Sequence[Message]) -> ReplyFormat:
    """What the prompt asks for, judged by the names it mentions outside the agent's replies."""
    texts = [message.text for message in messages if message.role != "agent"]
    if any("state_patch" in text for text in texts):
        return "patch"
    if any("StateUpdate" in text for text in texts):
        return "deep_update" if any("merged key by key" in text for text in texts) else "update"
    return "action"


def write_reply(form: ReplyFormat, action: str, before: Mapping[str, JSON], after: Mapping[str, JSON]) -> str:
    """The reply for an action that leads from one state to another, in the form that was asked for."""
    if form == "patch":
        envelope = {"state_patch": merge_patch(before, after), "action": action}
        return f"```json\n{json.dumps(envelope, separators=(',', ':'))}\n```"
    if form in ("update", "deep_update"):
        # Where the last value of a top-level key wins, whole values are given.
        whole = {key: value for key, value in after.items() if before.get(key) != value}
        changed = whole if form == "update" else merge_patch(before, after)
        return f"StateUpdate: {json.dumps(changed, separators=(',', ':'))}\nAction: {action}"
    return f"Action: {action}"


def merge_patch(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> dict[str, JSON]:
    """The smallest merge patch (RFC 7396) from one object to another; neither may hold null."""
    patch: dict[str, JSON] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            if nested := merge_patch(old, value):
                patch[key] = nested
        elif key not in before or old != value:
            patch[key] = value
    return patch


@lru_cache(maxsize=4096)
def _read_text(text: str) -> tuple[Marked | Block, ...]:
    """Cached: in a growing prompt all messages but the last are those of the turn before."""
    marks: list[Marked | Block] = []
    position = 0
    while match := _MARK.search(text, position):
        position = match.end()
        if match["json"] is None:
            marks.append(Marked(match["label"], match["text"].strip()))
            continue
        try:
            value, position = _DECODER.raw_decode(text, match.start("json"))
        except (ValueError, RecursionError):
            continue
        action = value.get("action")
        if isinstance(action, str) and "state_patch" in value:
            marks.append(Marked("Action", action))
        else:
            marks.append(Block(value))
    return tuple(marks)
