"""The counter world: one integer, three commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perdure.core.environment import Environment, Opening
from perdure.core.history import HistoryFactory
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, Observation, Trial
from perdure.environments.counter.actions import CounterAction, parse_action
from perdure.environments.counter.prompts import INSTRUCTIONS
from perdure.environments.counter.scoring import grade
from perdure.environments.counter.tasks import CounterTask, CounterTasks
from perdure.metrics.skills import skill_metrics

MAX_INTERACTIONS = 8


class CounterEnvironment(Environment):
    """A toy for tutorials and tests: bring a counter to a target.

    `tasks` is how many tasks there are, `seed` makes them, `max_interactions` only tells the agent its limit.
    """

    name = "counter"

    def __init__(self, *, tasks: int = 20, seed: int = 0, max_interactions: int = MAX_INTERACTIONS) -> None:
        if tasks < 1:
            raise ValueError(f"tasks must be at least 1, not {tasks}")
        if tasks > 1_000_000:
            raise ValueError(f"tasks must be at most 1,000,000, not {tasks}")
        self.version = f"2+{tasks}.{seed}"
        self.instructions = INSTRUCTIONS.format(max_interactions=max_interactions)
        self.history_factory = HistoryFactory()
        self._tasks = CounterTasks(tasks, seed)
        self._task: CounterTask | None = None
        self._value = 0

    def task_ids(self) -> Sequence[str]:
        """`0`, `1`, …"""
        return list(self._tasks)

    def reset(self, trial: Trial) -> Opening:
        """Put the counter on the start of a task."""
        self._task = self._tasks[trial.task_id]
        self._value = self._task.start
        observation = Observation(f"The counter is at {self._value}.")
        return Opening(
            self._task.goal, observation, self.history_factory.construct(self._task.goal, observation)
        )

    def interact(self, action: str) -> Observation:
        """Carry out one command; a bad one changes nothing and costs its turn."""
        match parse_action(action):
            case str(error):
                return Observation(error, accepted=False)
            case CounterAction("done"):
                return Observation("", done=True, reason="the agent ended the task")
            case CounterAction("add", amount):
                self._value += amount
        return Observation(f"The counter is at {self._value}.")

    def read_action(self, text: str) -> str | None:
        """The command, in one spelling."""
        parsed = parse_action(text)
        return None if isinstance(parsed, str) else str(parsed)

    def complete(self) -> Evaluation:
        """Grade, and put everything back."""
        if self._task is None:
            raise RuntimeError("complete() without reset()")
        evaluation = grade(self._task, self._value)
        self._task, self._value = None, 0
        return evaluation

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """Success and per-skill rates."""
        return skill_metrics(records, skills(self))

    def release(self) -> None:
        """Nothing is held."""


def skills(environment: CounterEnvironment) -> Mapping[str, Sequence[str]]:
    """The skills of every task by id."""
    return {id_: task.skills for id_, task in environment._tasks.items()}
