"""The warehouse of SkillExecBench: five hundred shelves, one event a turn, one right answer to each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.world import StateSupport
from perdure.environments.skillexec.environment import SeededEnvironment
from perdure.environments.skillexec.knobs import LONGEST_HORIZON, NoiseTier
from perdure.environments.warehouse.actions import ACTION_PATTERN, NO_OP, parse_action
from perdure.environments.warehouse.parameters import (
    PAGES,
    Drift,
    Parameters,
    Placement,
    Profile,
    Tier,
)
from perdure.environments.warehouse.play import Play
from perdure.environments.warehouse.prompts import ACTION_FORM, instructions
from perdure.environments.warehouse.scoring import warehouse_metrics
from perdure.environments.warehouse.tasks import goal

MAX_INTERACTIONS = LONGEST_HORIZON + PAGES
"""More than any task has: the task itself ends after its last event."""


class WarehouseEnvironment(SeededEnvironment):
    """Shipments arrive, customers order, shelves are maintained; the agent must know what stands where.

    `tasks` generator seeds from `seed` on, one task each; the other keys are those of `Parameters`.
    """

    name = "warehouse"

    def __init__(
        self,
        *,
        tasks: int = 5,
        seed: int = 42,
        horizon: int = 100,
        profile: Profile = "paper",
        placement: Placement = "lowest",
        noise: int = 0,
        noise_tier: NoiseTier = "random",
        drift: Drift = "none",
        step: int = 0,
        gap: int = 3,
        shelves: int = 500,
        probes: int = 12,
        tier: Tier = "none",
    ) -> None:
        parameters = Parameters(
            horizon, profile, placement, noise, noise_tier, drift, step, gap, shelves, probes, tier
        )
        super().__init__(
            tasks=tasks,
            seed=seed,
            parameters=parameters,
            instructions=instructions(parameters),
            goal=goal(parameters),
            make_play=lambda seed: Play(parameters, seed),
            read=parse_action,
        )
        self._parameters = parameters

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """`overall.mean_score` is the paper's figure; also recovery, and action ratios by kind of event."""
        return warehouse_metrics(records)


def state_support(environment: WarehouseEnvironment) -> StateSupport:
    """The same for every configuration."""
    from perdure.environments.warehouse.state import WarehouseState

    return StateSupport(
        schema=WarehouseState, action_form=ACTION_FORM, action_pattern=ACTION_PATTERN, no_op=NO_OP
    )
