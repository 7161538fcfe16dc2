"""Agents without a model: the floor of an environment, and the replay of somebody's replies."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import Outcome
from perdure.core.types import Trial
from perdure.storage.run_reader import RunReader


class DoNothing(Agent):
    """Gives the same reply in every turn: the one that ends a task without doing anything."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def start(self, trial: Trial, opening: Opening) -> None:
        """Nothing to remember."""

    def infer(self, view: ContextView) -> str:
        """The reply."""
        return self._reply


class FixedResponse(Agent):
    """Replays the replies that an agent gave in another run, task by task.

    Raises ConfigError when the run does not hold a task, ModelError when a task's replies are used up.
    """

    def __init__(self, run: Path) -> None:
        if not (run / "sessions.jsonl").exists():
            raise ConfigError(f"agent.run: {str(run)!r} is not a run folder")
        self._reader = RunReader(run)
        self._index = {(line["task"], line["repeat"]): line["index"] for line in self._reader.lines()}
        self._replies: deque[Outcome | str] = deque()

    def start(self, trial: Trial, opening: Opening) -> None:
        """Load this task's replies: what the agent's model answered, errors too, or else its actions."""
        try:
            index = self._index[trial.task_id, trial.repeat]
        except KeyError:
            raise ConfigError(
                f"{str(self._reader.folder)!r} holds no replies for task {trial.task_id!r}, "
                f"repeat {trial.repeat}"
            ) from None
        answers = [call.outcome for call in self._reader.calls(index) if call.caller == "agent"]
        actions = [interaction.action for interaction in self._reader[index].interactions]
        self._replies = deque(answers or actions)

    def infer(self, view: ContextView) -> str:
        """The next recorded reply."""
        if not self._replies:
            raise ModelError("the recorded replies of this task are used up")
        reply = self._replies.popleft()
        if isinstance(reply, ModelError):
            raise reply
        return reply if isinstance(reply, str) else reply.text
