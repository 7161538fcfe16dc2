"""Answers every event from what the environment has said so far: the ceiling."""

from __future__ import annotations

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Message, Observation, Trial
from perdure.environments.skillexec.prompt_reading import read_messages
from perdure.environments.warehouse.belief import Belief
from perdure.environments.warehouse.environment import WarehouseEnvironment
from perdure.environments.warehouse.parameters import Placement
from perdure.environments.warehouse.perfect_reader import follow


class WarehouseOracle(Agent):
    """Keeps one belief for the whole task instead of reading everything again."""

    def __init__(self, placement: Placement, shelves: int) -> None:
        self._rules = placement, shelves
        self._belief = Belief(*self._rules)
        self._heard = ""

    def start(self, trial: Trial, opening: Opening) -> None:
        """Forget the last task."""
        self._belief = Belief(*self._rules)
        self._hear(opening.observation)

    def infer(self, view: ContextView) -> str:
        """The best answer to the present event."""
        action = self._belief.decide(self._heard)
        self._belief.read_action(str(action))
        return f"Action: {action}"

    def observe(self, observation: Observation) -> None:
        """Take note of the result and of the next event."""
        self._hear(observation)

    def _hear(self, observation: Observation) -> None:
        self._heard = observation.text
        follow(self._belief, read_messages([Message("user", observation.text)]))


def oracle(environment: WarehouseEnvironment) -> Agent:
    """An oracle for any task; it knows the rules that the environment's instructions tell."""
    return WarehouseOracle(environment._parameters.placement, environment._parameters.shelves)
