"""Solves every task with what the environment says: the ceiling."""

from __future__ import annotations

import re

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Observation, Trial
from perdure.environments.counter.actions import LARGEST_STEP
from perdure.environments.counter.environment import CounterEnvironment


class CounterOracle(Agent):
    """Reads the counter from each observation and steps towards the goal."""

    def __init__(self) -> None:
        self._target = self._value = 0

    def start(self, trial: Trial, opening: Opening) -> None:
        """Take the target from the goal and the value from the first observation."""
        self._target = _number(opening.goal)
        self._value = _number(opening.observation.text)

    def infer(self, view: ContextView) -> str:
        """One step towards the target, or done."""
        gap = self._target - self._value
        if gap == 0:
            return "Action: done"
        return f"Action: add {max(-LARGEST_STEP, min(LARGEST_STEP, gap))}"

    def observe(self, observation: Observation) -> None:
        """Remember where the counter stands."""
        if observation.text:
            self._value = _number(observation.text)


def oracle(environment: CounterEnvironment) -> Agent:
    """An oracle for any set of counter tasks."""
    return CounterOracle()


def _number(text: str) -> int:
    found = re.search(r"-?\d+", text)
    if found is None:
        raise ValueError(f"no number in {text!r}")
    return int(found[0])
