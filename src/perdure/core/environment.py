"""The environment contract: these methods, and nothing else is public (LifelongAgentBench B.1.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from perdure.core.handed_over import observation_problem
from perdure.core.history import HistoryFactory, InteractionHistory
from perdure.core.plain_json import short_repr
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, Message, Observation, Trial

__all__ = ["Environment", "Evaluation", "Observation", "Opening"]


@dataclass(frozen=True)
class Opening:
    """What a reset returns: the goal g, the first observation O_0 and the history they open.

    An observation whose status is `task_environment_error` says that this task's own set-up failed: the
    session ends there, graded as the environment decides.
    """

    goal: str
    observation: Observation
    history: InteractionHistory


def opening_problem(given: object) -> str | None:
    """What makes it no opening, in a few words, or None."""
    if not isinstance(given, Opening):
        return f"{short_repr(given)} in place of an Opening"
    goal, history = cast(object, given.goal), cast(object, given.history)
    if not isinstance(goal, str):
        return f"the goal {short_repr(goal)}; it is a text"
    if not isinstance(history, InteractionHistory) or not all(isinstance(m, Message) for m in history):
        return f"the history {short_repr(history)}; it is an InteractionHistory"
    return observation_problem(given.observation)


class Environment(ABC):
    """A world of tasks. It returns data; the controller moves the session.

    One task is open at a time. `reset` while a task is open abandons it. Everything an agent may break is
    restored by `complete` or by the next `reset`. A world that breaks (dead database, lost sandbox) raises
    `EnvironmentUnavailable`; a bad action is an observation.
    """

    name: str
    """Short name, recorded with every result."""
    version: str
    """Changes whenever results may change; covers the task data too (`1+<digest of the data>`)."""
    instructions: str
    """The immutable P of every strategy: what the world is and how to act in it."""
    history_factory: HistoryFactory
    """Makes opening histories; callbacks may edit it."""

    @abstractmethod
    def task_ids(self) -> Sequence[str]:
        """Every task, in the order of its file. Ids only: ground truth never leaves the environment."""

    @abstractmethod
    def reset(self, trial: Trial) -> Opening:
        """Prepare s_0 of one task. Raises KeyError for an unknown id, EnvironmentUnavailable.

        Whatever a world draws by chance is keyed by the trial, and its present is `trial.clock`.
        """

    @abstractmethod
    def interact(self, action: str) -> Observation:
        """Carry out one action of the open task. Never raises for a bad action."""

    @abstractmethod
    def read_action(self, text: str) -> str | None:
        """The key by which actions of the open task are compared; None where a text holds no action.

        Pure, and by this configuration: equal keys for actions that do the same. It is never carried out.
        """

    @abstractmethod
    def complete(self) -> Evaluation:
        """Grade the open task, whatever ended it, and restore the initial state."""

    @abstractmethod
    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """Metrics over finished sessions, as flat `name -> number`; repeats of a task count as sessions.

        Ignored sessions are not among the records of a run.
        """

    @abstractmethod
    def release(self) -> None:
        """Free everything. Idempotent."""
