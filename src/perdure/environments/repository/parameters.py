"""What one configuration of the repository is: every knob of the generator, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Verbs: TypeAlias = Literal["main", "appendix", "union"]
NoiseTier: TypeAlias = Literal["random", "near_miss", "override"]
Drift: TypeAlias = Literal["none", "A", "B", "C"]

SHORTEST_HORIZON, LONGEST_HORIZON = 10, 1000
MOST_PROBES = 12
"""Each backport of one commit needs a line of its own."""
NOISE_LEVELS = (0, 5, 20, 50)
LEAD = 8
"""Most steps before a drift that the script uses to have an open pull request whose tests pass."""


@dataclass(frozen=True)
class Parameters:
    """The generator's knobs. Raises ValueError, naming the knob and its choices, for a bad one.

    `step` is the index of the first event after the silent change, 0 for the middle of the task;
    `gap` is how many events later the alert comes.
    """

    horizon: int = 100
    verbs: Verbs = "union"
    noise: int = 0
    noise_tier: NoiseTier = "random"
    drift: Drift = "none"
    step: int = 0
    gap: int = 3
    probes: int = 12

    def __post_init__(self) -> None:
        _choose("verbs", self.verbs, get_args(Verbs))
        _choose("noise", self.noise, NOISE_LEVELS)
        _choose("noise_tier", self.noise_tier, get_args(NoiseTier))
        _choose("drift", self.drift, get_args(Drift))
        _between("horizon", self.horizon, SHORTEST_HORIZON, LONGEST_HORIZON)
        _between("probes", self.probes, 1, MOST_PROBES)
        _between("gap", self.gap, 1, 100)
        if self.drift == "none":
            return
        if self.drift == "A" and self.verbs == "appendix":
            raise ValueError("drift 'A' is probed with backports, which verbs 'appendix' has not")
        last = self.horizon - self.gap - 1 - self.probes
        if last < LEAD:
            raise ValueError(f"horizon must be at least {self.horizon + LEAD - last} for a drift")
        if self.step:
            _between("step", self.step, LEAD, last)

    @property
    def drift_step(self) -> int:
        """Index of the first event after the silent change."""
        last = self.horizon - self.gap - 1 - self.probes
        return self.step or max(LEAD, min(self.horizon // 2, last))


def _choose(knob: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{knob} must be one of {', '.join(map(str, choices))}, not {value!r}")


def _between(knob: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{knob} must be between {low} and {high}, not {value}")
