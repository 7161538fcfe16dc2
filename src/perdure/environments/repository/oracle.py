"""Answers every event from what the environment has said so far: the ceiling."""

from __future__ import annotations

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Message, Observation, Trial
from perdure.environments.repository.belief import Belief
from perdure.environments.repository.environment import RepositoryEnvironment
from perdure.environments.repository.parameters import Verbs
from perdure.environments.repository.perfect_reader import follow
from perdure.environments.skillexec.prompt_reading import read_messages


class RepositoryOracle(Agent):
    """Keeps one belief for the whole task instead of reading everything again."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._belief = Belief(verbs)

    def start(self, trial: Trial, opening: Opening) -> None:
        """Forget the last task."""
        self._belief = Belief(self._verbs)
        self.observe(opening.observation)

    def infer(self, view: ContextView) -> str:
        """The best answer to the present event."""
        return f"Action: {self._belief.decide()}"

    def observe(self, observation: Observation) -> None:
        """Take note of the result and of the next event."""
        follow(self._belief, read_messages([Message("user", observation.text)]))


def oracle(environment: RepositoryEnvironment) -> Agent:
    """An oracle for any task; it knows which verbs there are, as the instructions tell."""
    return RepositoryOracle(environment._parameters.verbs)
