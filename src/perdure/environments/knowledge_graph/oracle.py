"""Solves every task through the environment: plays the gold actions and answers with the last variable."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Observation, Trial
from perdure.environments.knowledge_graph.actions import DO_NOTHING
from perdure.environments.knowledge_graph.environment import KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.tasks import KnowledgeGraphTask

_VARIABLE = re.compile(r": variable (#[0-9]+), ")


class KnowledgeGraphOracle(Agent):
    """Knows the actions of every task, not the answers: those come from the graph."""

    def __init__(self, tasks: Iterable[KnowledgeGraphTask]) -> None:
        self._actions = {task.id: task.actions for task in tasks}
        self._left: list[str] = []
        self._last = ""

    def start(self, trial: Trial, opening: Opening) -> None:
        """Lay the actions of this task out."""
        self._left = list(self._actions[trial.task_id])
        self._last = ""

    def infer(self, view: ContextView) -> str:
        """The next action, or the answer."""
        if self._left:
            return f"Action: {self._left.pop(0)}"
        return f"Final Answer: {self._last}" if self._last else DO_NOTHING

    def observe(self, observation: Observation) -> None:
        """Remember the last variable."""
        made = _VARIABLE.search(observation.text)
        if made is not None:
            self._last = made[1]


def oracle(environment: KnowledgeGraphEnvironment) -> Agent:
    """An oracle for the questions of an environment."""
    return KnowledgeGraphOracle(environment._tasks.values())
