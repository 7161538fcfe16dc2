"""Solves every task with what the database returns: the ceiling."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Observation, Trial
from perdure.environments.database.environment import DatabaseEnvironment
from perdure.environments.database.tasks import DatabaseTask


class OracleAgent(Agent):
    """Runs the ground-truth statement, then answers with the rows that it was shown."""

    def __init__(self, tasks: Mapping[str, DatabaseTask]) -> None:
        self._tasks = tasks
        self._sql = ""
        self._seen: str | None = None

    def start(self, trial: Trial, opening: Opening) -> None:
        """Look the task's statement up. Raises KeyError for a task of another file."""
        self._sql = self._tasks[trial.task_id].sql
        self._seen = None

    def infer(self, view: ContextView) -> str:
        """The statement first, what it returned next."""
        if self._seen is None:
            return f"Action: Operation\n```sql\n{self._sql}\n```"
        return f"Action: Answer\nFinal Answer: {self._seen}"

    def observe(self, observation: Observation) -> None:
        """Remember the rows."""
        self._seen = observation.text


def oracle(environment: DatabaseEnvironment) -> Agent:
    """An oracle for the tasks of an environment."""
    return OracleAgent(environment._tasks)
