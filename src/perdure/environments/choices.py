"""Checks of constructor parameters of which only some values mean anything."""

from __future__ import annotations

from collections.abc import Sequence


def choose(key: str, value: object, choices: Sequence[object]) -> None:
    """Raise ValueError, naming key, value and choices, unless the value is one of them."""
    if value not in choices:
        known = ", ".join(str(choice) for choice in choices if choice is not None)
        raise ValueError(f"{key} must be one of {known}, not {value!r}")
