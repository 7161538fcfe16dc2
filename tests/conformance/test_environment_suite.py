"""The environment suite passes what conforms and finds each way of not conforming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from perdure.conformance.companions import companions_of
from perdure.conformance.environment_play import spread
from perdure.conformance.environments import CHECKS, Companions, check_environment
from perdure.core.agent import Agent
from perdure.core.environment import Environment, Opening
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation
from perdure.environments.counter import CounterEnvironment
from perdure.experiment.registry import load_plugin, plugin_names
from perdure.experiment.scripted_agents import DoNothing

COUNTER = companions_of(load_plugin("environment", "counter"))


def failures(build: Callable[[], Environment], companions: Companions = COUNTER) -> dict[str, str]:
    return {
        result.name: result.detail for result in check_environment(build, companions) if not result.passed
    }


@pytest.mark.parametrize("name", plugin_names("environment"))
def test_every_shipped_environment_conforms(name: str) -> None:
    plugin = load_plugin("environment", name)
    assert companions_of(plugin).build_oracle is not None
    results = list(check_environment(plugin.target, companions_of(plugin), sample=4))
    assert [result for result in results if not result.passed] == []
    assert len(results) == len(CHECKS)


class Extra(CounterEnvironment):
    def answer(self) -> int:
        return self._value


class Leaky(CounterEnvironment):
    """Keeps the counter of the last task."""

    def reset(self, task_id: str) -> Opening:
        before = getattr(self, "_last", 0)
        opening = super().reset(task_id)
        self._last = before + 1
        observation = Observation(f"{opening.observation.text} Task {before}.")
        history = self.history_factory.construct(opening.goal, observation)
        return Opening(opening.goal, observation, history)


class Fragile(CounterEnvironment):
    def interact(self, action: str) -> Observation:
        action.encode("utf-8")
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
    def reset(self, task_id: str) -> Opening:
        return super().reset(task_id if task_id in self._tasks else "0")


class Changing(CounterEnvironment):
    def reset(self, task_id: str) -> Opening:
        self.instructions += "!"
        return super().reset(task_id)


class Shy(CounterEnvironment):
    def reset(self, task_id: str) -> Opening:
        opening = super().reset(task_id)
        return replace(opening, history=self.history_factory.construct("Guess.", opening.observation))


class Averse(CounterEnvironment):
    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        count = len(list(records))
        return {"mean": 1 / count}


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


def lazy_oracle() -> Agent:
    return DoNothing("Action: done")


@pytest.mark.parametrize(
    ("companions", "check"),
    [
        (replace(COUNTER, build_oracle=lazy_oracle), "oracle solves the tasks"),
        (replace(COUNTER, do_nothing="Action: read"), "do nothing terminates"),
        (replace(COUNTER, normal_form=lambda action: action + "!"), "normal form is stable"),
        (replace(COUNTER, normal_form=lambda action: None), "normal form is stable"),
        (replace(COUNTER, normalise=lambda text: text + "!"), "normalise is idempotent"),
    ],
)
def test_a_broken_companion_is_found(companions: Companions, check: str) -> None:
    assert set(failures(CounterEnvironment, companions)) == {check}


def test_without_an_oracle_nothing_fails_that_needs_one() -> None:
    unreadable = {COUNTER.do_nothing: None}

    def normal_form(action: str) -> str | None:
        return unreadable.get(action, COUNTER.normal_form and COUNTER.normal_form(action))

    companions = replace(COUNTER, build_oracle=None, normal_form=normal_form)
    results = list(check_environment(CounterEnvironment, companions))
    assert [result for result in results if not result.passed] == []
    assert [result.name for result in results if not result.applicable] == ["oracle solves the tasks"]


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "5/20 tasks; 15 not played"), (1000.0, "20/20 tasks")])
def test_the_oracle_plays_all_tasks_as_long_as_its_time_lasts(seconds: float, told: str) -> None:
    results = check_environment(CounterEnvironment, COUNTER, oracle_seconds=seconds)
    assert [result.detail for result in results if result.name == "oracle solves the tasks"] == [told]


def test_a_sample_holds_both_ends() -> None:
    items = [str(i) for i in range(10)]
    assert spread(items, 4) == ["0", "3", "6", "9"]
    assert spread(items, 20) == items
    assert spread(items, 1) == ["0"]
