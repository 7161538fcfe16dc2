"""The software repository of SkillExecBench: a graph of branches, commits, requests, tests and releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.world import StateSupport
from perdure.environments.repository.actions import ACTION_PATTERN, NO_OP, parse_action
from perdure.environments.repository.parameters import (
    Drift,
    Parameters,
    Verbs,
)
from perdure.environments.repository.play import Play
from perdure.environments.repository.prompts import ACTION_FORM, instructions
from perdure.environments.repository.scoring import repository_metrics
from perdure.environments.repository.tasks import goal
from perdure.environments.skillexec.environment import SeededEnvironment
from perdure.environments.skillexec.knobs import LONGEST_HORIZON, NoiseTier

MAX_INTERACTIONS = LONGEST_HORIZON + 1
"""More than any task has: the task itself ends after its last event."""


class RepositoryEnvironment(SeededEnvironment):
    """Issues, reviews, tests, releases, backports: what belongs to what, and what is stale?

    `tasks` generator seeds from `seed` on, one task each; the other keys are those of `Parameters`.
    """

    name = "repository"

    def __init__(
        self,
        *,
        tasks: int = 5,
        seed: int = 42,
        horizon: int = 100,
        verbs: Verbs = "union",
        noise: int = 0,
        noise_tier: NoiseTier = "random",
        drift: Drift = "none",
        step: int = 0,
        gap: int = 3,
        probes: int = 12,
    ) -> None:
        parameters = Parameters(horizon, verbs, noise, noise_tier, drift, step, gap, probes)
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
        """The paper's two figures are `overall.mean_score` and `overall.mean_feature_score`."""
        return repository_metrics(records)


def state_support(environment: RepositoryEnvironment) -> StateSupport:
    """The same for every configuration."""
    from perdure.environments.repository.state import RepositoryState

    return StateSupport(
        schema=RepositoryState, action_form=ACTION_FORM, action_pattern=ACTION_PATTERN, no_op=NO_OP
    )
