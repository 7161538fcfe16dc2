"""What one configuration of the warehouse is: every knob of the generator, checked once."""

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

Profile: TypeAlias = Literal["paper", "growth", "dense"]
Placement: TypeAlias = Literal["lowest", "any"]
Drift: TypeAlias = Literal["none", "A", "B", "C", "D", "D_prime"]
Tier: TypeAlias = Literal["none", "unforeseen", "late", "audit"]

PAGES, ITEMS_A_PAGE = 6, 20

RECEIVE_WEIGHT: dict[Profile, int] = {"paper": 1, "growth": 2, "dense": 1}
CHATTER_RATE: dict[Profile, float] = {"paper": 0.0, "growth": 0.15, "dense": 0.15}

LEAD: dict[Drift, int] = {"none": 0, "A": 4, "B": 4, "C": 4, "D": 4, "D_prime": 10}
"""Steps before a drift that the script uses to have enough stock, or held orders, for it to touch."""


@dataclass(frozen=True)
class Parameters:
    """The generator's knobs. Raises ValueError, naming the knob and its choices, for a bad one.

    `step` is the index of the first event after the silent change, 0 for the middle of the task;
    `gap` is how many events later the alert comes.
    """

    horizon: int = 100
    profile: Profile = "paper"
    placement: Placement = "lowest"
    noise: int = 0
    noise_tier: NoiseTier = "random"
    drift: Drift = "none"
    step: int = 0
    gap: int = 3
    shelves: int = 500
    probes: int = 12
    tier: Tier = "none"

    def __post_init__(self) -> None:
        choose("profile", self.profile, get_args(Profile))
        choose("placement", self.placement, get_args(Placement))
        choose("noise", self.noise, NOISE_LEVELS)
        choose("noise_tier", self.noise_tier, get_args(NoiseTier))
        choose("drift", self.drift, get_args(Drift))
        choose("tier", self.tier, get_args(Tier))
        between("horizon", self.horizon, SHORTEST_HORIZON, LONGEST_HORIZON)
        between("shelves", self.shelves, self.preloaded + 20, 100_000)
        between("probes", self.probes, 1, 100)
        between("gap", self.gap, 1, 100)
        if self.drift == "none":
            return
        if self.tier != "none":
            raise ValueError(f"drift {self.drift!r} and tier {self.tier!r} cannot be had together")
        last = last_drift_step(self.horizon, self.gap, self.probes)
        if last < LEAD[self.drift]:
            shortest = self.horizon + LEAD[self.drift] - last
            raise ValueError(f"horizon must be at least {shortest} for this drift, not {self.horizon}")
        if self.step:
            between("step", self.step, LEAD[self.drift], last)

    @property
    def preloaded(self) -> int:
        """Items that stand in the warehouse when the task begins."""
        return PAGES * ITEMS_A_PAGE if self.profile == "dense" else 0

    @property
    def drift_step(self) -> int:
        """Index of the first event after the silent change."""
        last = last_drift_step(self.horizon, self.gap, self.probes)
        return drift_step(self.step, self.horizon, LEAD[self.drift], last)
