"""The warehouse of SkillExecBench: five hundred shelves, one event a turn, one right answer to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perdure.core.environment import Environment, Opening
from perdure.core.history import HistoryFactory
from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation, Observation, Trial, text_digest
from perdure.core.world import StateSupport
from perdure.environments.warehouse.actions import ACTION_PATTERN, NO_OP, parse_action
from perdure.environments.warehouse.parameters import (
    LONGEST_HORIZON,
    PAGES,
    Drift,
    NoiseTier,
    Parameters,
    Placement,
    Profile,
    Tier,
)
from perdure.environments.warehouse.play import Play
from perdure.environments.warehouse.prompts import ACTION_FORM, instructions
from perdure.environments.warehouse.scoring import warehouse_metrics
from perdure.environments.warehouse.script import write_script
from perdure.environments.warehouse.tasks import make_tasks

MAX_INTERACTIONS = LONGEST_HORIZON + PAGES
"""More than any task has: the task itself ends after its last event."""


class WarehouseEnvironment(Environment):
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
        if tasks < 1:
            raise ValueError(f"tasks must be at least 1, not {tasks}")
        if tasks > 1_000_000:
            raise ValueError(f"tasks must be at most 1,000,000, not {tasks}")
        self._parameters = Parameters(
            horizon, profile, placement, noise, noise_tier, drift, step, gap, shelves, probes, tier
        )
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
        """`overall.mean_score` is the paper's figure; also recovery, and action ratios by kind of event."""
        return warehouse_metrics(records)

    def release(self) -> None:
        """Nothing is held."""

    def _open_play(self) -> Play:
        if self._play is None:
            raise RuntimeError("no task is open: reset() comes first")
        return self._play


def true_states(environment: WarehouseEnvironment, trial: Trial, actions: Iterable[str]) -> Iterator[JSON]:
    """The true state after each action of a task, found by playing it again."""
    play = Play(environment._parameters, int(trial.task_id))
    play.open()
    for action in actions:
        done = play.step(action).done
        yield play.world.state()
        if done:
            return


def script_digest(environment: WarehouseEnvironment, task_id: str) -> str:
    """SHA-256 of a task's script."""
    return write_script(environment._parameters, int(task_id)).digest()


def state_support(environment: WarehouseEnvironment) -> StateSupport:
    """The same for every configuration."""
    from perdure.environments.warehouse.state import WarehouseState

    return StateSupport(
        schema=WarehouseState, action_form=ACTION_FORM, action_pattern=ACTION_PATTERN, no_op=NO_OP
    )
