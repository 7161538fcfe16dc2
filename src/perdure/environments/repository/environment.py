"""The software repository of SkillExecBench: a graph of branches, commits, requests, tests and releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perdure.core.environment import Environment, Opening
from perdure.core.history import HistoryFactory
from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation, Observation, Trial, text_digest
from perdure.core.world import StateSupport
from perdure.environments.repository.actions import ACTION_PATTERN, NO_OP, parse_action
from perdure.environments.repository.parameters import (
    LONGEST_HORIZON,
    Drift,
    NoiseTier,
    Parameters,
    Verbs,
)
from perdure.environments.repository.play import Play
from perdure.environments.repository.prompts import ACTION_FORM, instructions
from perdure.environments.repository.scoring import repository_metrics
from perdure.environments.repository.script import write_script
from perdure.environments.repository.tasks import make_tasks

MAX_INTERACTIONS = LONGEST_HORIZON + 1
"""More than any task has: the task itself ends after its last event."""


class RepositoryEnvironment(Environment):
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
        if tasks < 1:
            raise ValueError(f"tasks must be at least 1, not {tasks}")
        if tasks > 1_000_000:
            raise ValueError(f"tasks must be at most 1,000,000, not {tasks}")
        self._parameters = Parameters(horizon, verbs, noise, noise_tier, drift, step, gap, probes)
        self._tasks = make_tasks(tasks, seed, self._parameters)
        self._play: Play | None = None
        self.version = f"1+{text_digest(f'{seed} {tasks} {self._parameters}')[:8]}"
        self.instructions = instructions(self._parameters)
        self.history_factory = HistoryFactory()

    def task_ids(self) -> Sequence[str]:
        """The generator seeds, as texts."""
        return list(self._tasks)

    def reset(self, trial: Trial) -> Opening:
        """Write the script of one seed and show its first event."""
        task = self._tasks[trial.task_id]
        self._play = Play(self._parameters, int(trial.task_id))
        observation = self._play.open()
        return Opening(task.goal, observation, self.history_factory.construct(task.goal, observation))

    def interact(self, action: str) -> Observation:
        """Answer the present event; a bad answer changes nothing and costs the event."""
        return self._open_play().step(action)

    def read_action(self, text: str) -> str | None:
        """The command, in one spelling."""
        parsed = parse_action(text)
        return None if isinstance(parsed, str) else str(parsed)

    def complete(self) -> Evaluation:
        """Score the task; the next reset starts from the script again."""
        evaluation = self._open_play().grade()
        self._play = None
        return evaluation

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """The paper's two figures are `overall.mean_score` and `overall.mean_feature_score`."""
        return repository_metrics(records)

    def release(self) -> None:
        """Nothing is held."""

    def _open_play(self) -> Play:
        if self._play is None:
            raise RuntimeError("no task is open: reset() comes first")
        return self._play


def true_states(environment: RepositoryEnvironment, trial: Trial, actions: Iterable[str]) -> Iterator[JSON]:
    """The true state after each action of a task, found by playing it again."""
    play = Play(environment._parameters, int(trial.task_id))
    play.open()
    for action in actions:
        done = play.step(action).done
        yield play.world.repository.state()
        if done:
            return


def script_digest(environment: RepositoryEnvironment, task_id: str) -> str:
    """SHA-256 of a task's script."""
    return write_script(environment._parameters, int(task_id)).digest()


def state_support(environment: RepositoryEnvironment) -> StateSupport:
    """The same for every configuration."""
    from perdure.environments.repository.state import RepositoryState

    return StateSupport(
        schema=RepositoryState, action_form=ACTION_FORM, action_pattern=ACTION_PATTERN, no_op=NO_OP
    )
