"""Whether a value comes back from JSON as it was: what plugins hand over is kept in files."""

from __future__ import annotations

from math import isfinite

_DEEPEST = 200
_BITS = 14_000
"""Of an integer; what has more than 4,300 digits Python neither writes nor reads (`sys.int_info`)."""
_SHOWN = 80
"""Characters of a value in a message."""
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
                    return f"{where} has the key {short_repr(key)}; keys are strings"
                waiting.append((f"{where}[{key!r}]", item, depth + 1))
        elif isinstance(value, list | tuple):
            waiting.extend((f"{where}[{i}]", item, depth + 1) for i, item in enumerate(value))
        elif isinstance(value, float):
            if not isfinite(value):
                return f"{where} is {value!r}"
        elif isinstance(value, int):
            if value.bit_length() > _BITS:
                return f"{where} is an integer of {value.bit_length()} bits"
        elif value is not None and not isinstance(value, str):
            return f"{where} is {short_repr(value)} of type {type(value).__name__!r}"
    return None


def short_repr(value: object) -> str:
    """The beginning of a value's `repr`; of one that has none, its type."""
    try:
        return repr(value)[:_SHOWN]
    except Exception:  # noqa: BLE001 - it is somebody else's, or too deep, or too long a number
        return f"<{type(value).__name__} without a repr>"
