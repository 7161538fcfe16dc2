"""Finds `StateUpdate: {…}` in a reply and merges it into a state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NoReturn, TypeAlias

from perdure.core.types import JSON

MergeMode: TypeAlias = Literal["last_value", "deep"]
"""Per top-level key the last value, or object by object at every depth."""

MARK = "StateUpdate:"
_DEEPEST = 64
_LARGEST = 200_000
"""Characters of one update."""


class BadUpdate(ValueError):
    """An update cannot be used; the message is one line."""


def split_update(reply: str) -> tuple[str, dict[str, JSON]]:
    """A reply without its last update, and the update: empty where there is none. Raises BadUpdate."""
    mark = reply.rfind(MARK)
    if mark < 0:
        return reply, {}
    start = mark + len(MARK)
    while start < len(reply) and reply[start].isspace():
        start += 1
    try:
        update, end = _DECODER.raw_decode(reply[start : start + _LARGEST])
    except RecursionError:
        raise BadUpdate(f"the update is nested deeper than {_DEEPEST} levels") from None
    except ValueError as error:
        raise BadUpdate(f"the update is no JSON: {error}") from None
    if not isinstance(update, dict):
        raise BadUpdate("the update is no JSON object")
    if _is_deeper(update, _DEEPEST):
        raise BadUpdate(f"the update is nested deeper than {_DEEPEST} levels")
    return f"{reply[:mark].rstrip()}\n{reply[start + end :].lstrip()}".strip(), update


def merged(state: Mapping[str, JSON], update: Mapping[str, JSON], mode: MergeMode) -> dict[str, JSON]:
    """The state after an update; null is a value under `last_value` and deletes under `deep`."""
    if mode == "last_value":
        return {**state, **update}
    result = dict(state)
    for key, value in update.items():
        old = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merged(old if isinstance(old, Mapping) else {}, value, mode)
        else:
            result[key] = value
    return result


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value: JSON, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


_DECODER = json.JSONDecoder(parse_constant=_refuse)
