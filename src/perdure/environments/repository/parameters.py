"""What one configuration of the repository is: every knob of the generator, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from perdure.environments.choices import choose
from perdure.environments.skillexec.knobs import (
    LONGEST_HORIZON,
    NOISE_LEVELS,
    SHORTEST_HORIZON,
    NoiseTier,
    between,
    drift_step,
    last_drift_step,
)

Verbs: TypeAlias = Literal["main", "appendix", "union"]
Drift: TypeAlias = Literal["none", "A", "B", "C"]

MOST_PROBES = 12
"""Each backport of one commit needs a line of its own."""
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
        choose("verbs", self.verbs, get_args(Verbs))
        choose("noise", self.noise, NOISE_LEVELS)
        choose("noise_tier", self.noise_tier, get_args(NoiseTier))
        choose("drift", self.drift, get_args(Drift))
        between("horizon", self.horizon, SHORTEST_HORIZON, LONGEST_HORIZON)
        between("probes", self.probes, 1, MOST_PROBES)
        between("gap", self.gap, 1, 100)
        if self.drift == "none":
            return
        if self.drift == "A" and self.verbs == "appendix":
            raise ValueError("drift 'A' is probed with backports, which verbs 'appendix' has not")
        last = last_drift_step(self.horizon, self.gap, self.probes)
        if last < LEAD:
            raise ValueError(f"horizon must be at least {self.horizon + LEAD - last} for a drift")
        if self.step:
            between("step", self.step, LEAD, last)

    @property
    def drift_step(self) -> int:
        """Index of the first event after the silent change."""
        last = last_drift_step(self.horizon, self.gap, self.probes)
        return drift_step(self.step, self.horizon, LEAD, last)
