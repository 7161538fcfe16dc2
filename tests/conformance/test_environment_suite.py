"""The environment suite passes what conforms and finds each way of not conforming."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from perdure.conformance.environment_play import spread
from perdure.conformance.environments import CHECKS, check_environment
from perdure.core.agent import Agent
from perdure.core.environment import Environment, Opening
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, Trial
from perdure.core.world import World
from perdure.environments import counter
from perdure.environments.counter import CounterEnvironment
from perdure.experiment.registry import load_world, plugin_names
from perdure.experiment.scripted_agents import DoNothing

COUNTER = counter.WORLD


def failures(build: Callable[[], Environment] | None = None, world: World = COUNTER) -> dict[str, str]:
    return {result.name: result.detail for result in check_environment(world, build) if not result.passed}


@pytest.mark.parametrize("name", plugin_names("environment"))
def test_every_shipped_environment_conforms(name: str) -> None:
    world = load_world(name)
    assert world.oracle is not None
    results = list(check_environment(world, sample=4))
    assert [result for result in results if not result.passed] == []
    assert len(results) == len(CHECKS)


class Extra(CounterEnvironment):
    def answer(self) -> int:
        return self._value


class Leaky(CounterEnvironment):
    """Keeps the counter of the last task."""

    def reset(self, trial: Trial) -> Opening:
        before = getattr(self, "_last", 0)
        opening = super().reset(trial)
        self._last = before + 1
        observation = Observation(f"{opening.observation.text} Task {before}.")
        history = self.history_factory.construct(opening.goal, observation)
        return Opening(opening.goal, observation, history)


class Fragile(CounterEnvironment):
    def interact(self, action: str) -> Observation:
        action.encode("ascii")
        return super().interact(action)


class Generous(CounterEnvironment):
    def complete(self) -> Evaluation:
        return replace(super().complete(), reward=2.0)


class Undecided(CounterEnvironment):
    def complete(self) -> Evaluation:
        super().complete()
        return Evaluation(EvaluationOutcome.UNSET, 0.0)


class Wordy(CounterEnvironment):
    def complete(self) -> Evaluation:
        return replace(super().complete(), detail={"why": "because"})  # type: ignore[dict-item]


class Repeating(CounterEnvironment):
    def task_ids(self) -> Sequence[str]:
        return ["0", "1", "0"]


class Lenient(CounterEnvironment):
    def reset(self, trial: Trial) -> Opening:
        return super().reset(trial if trial.task_id in self._tasks else Trial("0"))


class Changing(CounterEnvironment):
    def reset(self, trial: Trial) -> Opening:
        self.instructions += "!"
        return super().reset(trial)


class Shy(CounterEnvironment):
    def reset(self, trial: Trial) -> Opening:
        opening = super().reset(trial)
        return replace(opening, history=self.history_factory.construct("Guess.", opening.observation))


class Averse(CounterEnvironment):
    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        count = len(list(records))
        return {"mean": 1 / count}


class Hasty(CounterEnvironment):
    def read_action(self, text: str) -> str | None:
        self._value += 1
        return super().read_action(text)


class Appending(CounterEnvironment):
    def __init__(self) -> None:
        super().__init__()
        self._read = 0

    def read_action(self, text: str) -> str | None:
        self._read += 1
        key = super().read_action(text)
        return None if key is None else f"{key} {self._read}"


class Shared(CounterEnvironment):
    """Keeps the counter where every instance finds it."""

    value = 0

    def reset(self, trial: Trial) -> Opening:
        opening = super().reset(trial)
        Shared.value = self._value
        return opening

    def interact(self, action: str) -> Observation:
        self._value = Shared.value
        observation = super().interact(action)
        Shared.value = self._value
        return observation


class OneThread(CounterEnvironment):
    """Two threads that open tasks at once disturb each other."""

    _opening: int | None = None

    def reset(self, trial: Trial) -> Opening:
        OneThread._opening = threading.get_ident()
        time.sleep(0.01)
        if OneThread._opening != threading.get_ident():
            raise RuntimeError("another thread opened a task meanwhile")
        return super().reset(trial)


class Illiterate(CounterEnvironment):
    def read_action(self, text: str) -> str | None:
        return None


class Held(CounterEnvironment):
    def release(self) -> None:
        if self._task is None and self.instructions == "":
            raise RuntimeError("released twice")
        self.instructions, self._task = "", None


@pytest.mark.parametrize(
    ("build", "check"),
    [
        (Extra, "public members"),
        (Leaky, "complete restores"),
        (Leaky, "second reset abandons the first"),
        (Fragile, "hostile replies are data"),
        (Generous, "evaluations are valid"),
        (Undecided, "evaluations are valid"),
        (Wordy, "evaluations are valid"),
        (Repeating, "task ids are unique texts"),
        (Lenient, "unknown task raises key error"),
        (Changing, "instructions are constant"),
        (Shy, "openings are valid"),
        (Averse, "metrics are numbers"),
        (Hasty, "read action is pure and total"),
        (Appending, "read action is pure and total"),
        (Illiterate, "read action is pure and total"),
        (Shared, "instances do not disturb each other"),
        (OneThread, "instances do not disturb each other"),
        (Held, "release is idempotent"),
    ],
)
def test_a_broken_contract_is_found(build: type[Environment], check: str) -> None:
    found = failures(build)
    assert check in found
    assert found[check]


def test_environments_that_differ_from_each_other_are_found() -> None:
    seeds = iter(range(100))
    assert "two instances agree" in failures(lambda: CounterEnvironment(seed=next(seeds)))


def lazy_oracle(environment: Environment) -> Agent:
    return DoNothing("Action: done")


@pytest.mark.parametrize(
    ("world", "check"),
    [
        (replace(COUNTER, oracle=lazy_oracle), "oracle solves the tasks"),
        (replace(COUNTER, do_nothing="Action: read"), "do nothing terminates"),
        (replace(COUNTER, normalise=lambda text: text + "!"), "normalise is idempotent"),
    ],
)
def test_what_is_broken_beside_the_class_is_found(world: World, check: str) -> None:
    assert set(failures(world=world)) == {check}


def test_without_an_oracle_nothing_fails_that_needs_one() -> None:
    world = replace(COUNTER, environment=Illiterate, oracle=None)
    results = list(check_environment(world))
    assert [result for result in results if not result.passed] == []
    assert [result.name for result in results if not result.applicable] == ["oracle solves the tasks"]


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "5/20 tasks; 15 not played"), (1000.0, "20/20 tasks")])
def test_the_oracle_plays_all_tasks_as_long_as_its_time_lasts(seconds: float, told: str) -> None:
    results = check_environment(COUNTER, oracle_seconds=seconds)
    assert [result.detail for result in results if result.name == "oracle solves the tasks"] == [told]


def test_a_sample_holds_both_ends() -> None:
    items = [str(i) for i in range(10)]
    assert spread(items, 4) == ["0", "3", "6", "9"]
    assert spread(items, 20) == items
    assert spread(items, 1) == ["0"]
