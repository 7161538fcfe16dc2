"""The knobs that both generators have, and how one is checked."""

from __future__ import annotations

from typing import Literal, TypeAlias

NoiseTier: TypeAlias = Literal["random", "near_miss", "override"]

SHORTEST_HORIZON, LONGEST_HORIZON = 10, 1000
NOISE_LEVELS = (0, 5, 20, 50)


def between(knob: str, value: int, low: int, high: int) -> None:
    """Raise ValueError, naming knob and bounds, unless the value lies within them."""
    if not low <= value <= high:
        raise ValueError(f"{knob} must be between {low} and {high}, not {value}")


def last_drift_step(horizon: int, gap: int, probes: int) -> int:
    """The last index at which a drift may come: alert and probes must follow it."""
    return horizon - gap - 1 - probes


def drift_step(step: int, horizon: int, lead: int, last: int) -> int:
    """Index of the first event after the silent change: as given, or else the middle of the task."""
    return step or max(lead, min(horizon // 2, last))
