"""Whether a value comes back from JSON as it was: what plugins hand over is kept in files."""

from __future__ import annotations

from math import isfinite

_DEEPEST = 200
"""Levels of lists and objects that a value may have; what is deeper, or holds itself, is never read back."""


def beyond_json(value: object, name: str) -> str | None:
    """The first part of a value that would not come back as it was, by its path from `name`; None for none.

    A tuple may become a list.
    """
    waiting: list[tuple[str, object, int]] = [(name, value, 0)]
    while waiting:
        where, value, depth = waiting.pop()
        if depth > _DEEPEST:
            return f"{where[:60]}… is nested more than {_DEEPEST} levels deep"
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    return f"{where} has the key {key!r:.80}; keys are strings"
                waiting.append((f"{where}[{key!r}]", item, depth + 1))
        elif isinstance(value, list | tuple):
            waiting.extend((f"{where}[{i}]", item, depth + 1) for i, item in enumerate(value))
        elif isinstance(value, float):
            if not isfinite(value):
                return f"{where} is {value!r}"
        elif value is not None and not isinstance(value, str | int):
            return f"{where} is {value!r:.80} of type {type(value).__name__!r}"
    return None
