"""Solves every task on the machine itself: the ceiling."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.types import Observation, Trial
from perdure.environments.operating_system.environment import OperatingSystemEnvironment
from perdure.environments.operating_system.prompts import OUTPUT
from perdure.environments.operating_system.tasks import OsTask


class OracleAgent(Agent):
    """Runs the ground-truth script, then finishes, or answers with what the machine printed.

    A task that is graded by a stored answer and has no script cannot be solved by it.
    """

    def __init__(self, tasks: Mapping[str, OsTask]) -> None:
        self._tasks = tasks
        self._task: OsTask | None = None
        self._seen: str | None = None

    def start(self, trial: Trial, opening: Opening) -> None:
        """Look the task up. Raises KeyError for a task of another file."""
        self._task = self._tasks[trial.task_id]
        self._seen = None

    def infer(self, view: ContextView) -> str:
        """The script first, then the end of the task."""
        task = self._task
        if task is None or task.solution is None:
            return "Act: finish"
        if self._seen is None:
            return f"Act: bash\n```bash\n{_as_bash(task)}\n```"
        if task.takes_answer:
            lines = self._seen.removeprefix(OUTPUT).split("\n")
            return f"Act: answer({' '.join(lines).strip()})"
        return "Act: finish"

    def observe(self, observation: Observation) -> None:
        """Remember what the machine printed."""
        self._seen = observation.text


def oracle(environment: OperatingSystemEnvironment) -> Agent:
    """An oracle for the tasks of an environment."""
    return OracleAgent(environment._tasks)


def _as_bash(task: OsTask) -> str:
    if task.solution is None:
        return ""
    if task.solution.language == "bash":
        return task.solution.text
    return f"python3 - <<'END_OF_PROGRAM'\n{task.solution.text}\nEND_OF_PROGRAM"
