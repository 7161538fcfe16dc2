"""An environment whose tasks are generator seeds: task `43` is the script of seed 43."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from perdure.core.environment import Environment, Opening
from perdure.core.history import HistoryFactory
from perdure.core.types import JSON, Evaluation, Observation, Trial, text_digest
from perdure.core.world import Asked

_MOST_TASKS = 1_000_000


class Script(Protocol):
    """The whole course of events of one task."""

    def digest(self) -> str:
        """SHA-256: equal scripts, equal digests."""


class Play(Protocol):
    """One task under way."""

    @property
    def script(self) -> Script:
        """What happens, whatever the agent does."""

    def open(self) -> Observation:
        """The first event."""

    def step(self, action: str) -> Observation:
        """Answer the present event, and see the next one."""

    def grade(self) -> Evaluation:
        """The verdict so far."""

    def state(self) -> JSON:
        """The true state."""

    def asked(self) -> Asked | None:
        """What the present event asks for; None for one that does not count."""


class SeededEnvironment(Environment):
    """Plays one script a task. A subclass makes the plays and says what its metrics are.

    `make_play` starts the task of a generator seed, `read` gives the action of a reply, as something whose
    text is its key, or a text that says why there is none. Raises ValueError for a number of tasks that
    cannot be.
    """

    def __init__(
        self,
        *,
        tasks: int,
        seed: int,
        parameters: object,
        instructions: str,
        goal: str,
        make_play: Callable[[int], Play],
        read: Callable[[str], object],
    ) -> None:
        if tasks < 1:
            raise ValueError(f"tasks must be at least 1, not {tasks}")
        if tasks > _MOST_TASKS:
            raise ValueError(f"tasks must be at most {_MOST_TASKS:,}, not {tasks}")
        self._ids = {str(number): None for number in range(seed, seed + tasks)}
        self._goal = goal
        self._make_play = make_play
        self._read = read
        self._play: Play | None = None
        self.version = f"2+{text_digest(f'{seed} {tasks} {parameters}')[:8]}"
        self.instructions = instructions
        self.history_factory = HistoryFactory()

    def task_ids(self) -> Sequence[str]:
        """The generator seeds, as texts."""
        return list(self._ids)

    def reset(self, trial: Trial) -> Opening:
        """Write the script of one seed and show its first event."""
        if trial.task_id not in self._ids:
            raise KeyError(trial.task_id)
        self._play = self._make_play(int(trial.task_id))
        observation = self._play.open()
        return Opening(self._goal, observation, self.history_factory.construct(self._goal, observation))

    def interact(self, action: str) -> Observation:
        """Answer the present event; a bad answer changes nothing and costs the event."""
        return self._open_play().step(action)

    def read_action(self, text: str) -> str | None:
        """The command, in one spelling."""
        parsed = self._read(text)
        return None if isinstance(parsed, str) else str(parsed)

    def complete(self) -> Evaluation:
        """Score the task; the next reset starts from the script again."""
        evaluation = self._open_play().grade()
        self._play = None
        return evaluation

    def release(self) -> None:
        """Nothing is held."""

    def _open_play(self) -> Play:
        if self._play is None:
            raise RuntimeError("no task is open: reset() comes first")
        return self._play


def true_states(environment: SeededEnvironment, trial: Trial, actions: Iterable[str]) -> Iterator[JSON]:
    """The true state after each action of a task, found by playing it again."""
    play = environment._make_play(int(trial.task_id))
    play.open()
    for action in actions:
        done = play.step(action).done
        yield play.state()
        if done:
            return


def asked(environment: SeededEnvironment, trial: Trial, actions: Iterable[str]) -> Iterator[Asked | None]:
    """What the event before each action of a task asked for, found by playing it again.

    What it says holds until the next one is taken.
    """
    play = environment._make_play(int(trial.task_id))
    play.open()
    for action in actions:
        yield play.asked()
        if play.step(action).done:
            return


def script_digest(environment: SeededEnvironment, task_id: str) -> str:
    """SHA-256 of the script of a generator seed, which need not be among the environment's tasks."""
    return environment._make_play(int(task_id)).script.digest()
