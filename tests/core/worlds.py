"""An environment that breaks on demand, for `file.py:Class`: its knobs are a JSON file that tests change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from perdure.core.environment import Environment, Opening
from perdure.core.errors import EnvironmentUnavailable, ModelError
from perdure.core.history import HistoryFactory
from perdure.core.parameters import Operational
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.core.world import World


class Breakable(Environment):
    """Answers every action with its number; `win` makes the task correct, `end` ends it.

    Knobs: `broken` (tasks whose set-up fails), `lost_at` (number of the action at which the world dies),
    `prefix` (what every answer starts with), `ends_at` (number of the action that ends the task),
    `ungradable` (the model that grades cannot be had).
    """

    name = "breakable"
    version = "1"
    instructions = "Say win, then end."

    def __init__(self, *, knobs: Annotated[Path, Operational], tasks: int = 3) -> None:
        self.history_factory = HistoryFactory()
        self._knobs_file = knobs
        self._tasks = [str(i) for i in range(tasks)]
        self._count = 0
        self._won = False

    def task_ids(self) -> Sequence[str]:
        return self._tasks

    def reset(self, trial: Trial) -> Opening:
        task_id = trial.task_id
        self._count, self._won = 0, False
        knobs = self._knobs()
        if task_id in knobs.get("broken", []):
            status = SessionStatus.TASK_ENVIRONMENT_ERROR
            observation = Observation("", done=True, status=status, reason="set-up failed")
        else:
            observation = Observation(f"{knobs.get('prefix', '')}ready")
        return Opening(f"Task {task_id}.", observation, self.history_factory.construct("Win.", observation))

    def interact(self, action: str) -> Observation:
        knobs = self._knobs()
        self._count += 1
        if self._count == knobs.get("lost_at"):
            raise EnvironmentUnavailable("the world is gone")
        self._won = self._won or action == "win"
        done = action == "end" or self._count == knobs.get("ends_at")
        return Observation(f"{knobs.get('prefix', '')}{self._count}", done=done, accepted=action != "bad")

    def read_action(self, text: str) -> str | None:
        return text.strip() or None

    def complete(self) -> Evaluation:
        if self._knobs().get("ungradable"):
            raise ModelError("the judge hung up")
        outcome = EvaluationOutcome.CORRECT if self._won else EvaluationOutcome.INCORRECT
        return Evaluation(outcome, float(self._won), {"actions": self._count})

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        return {"wins": float(sum(record.correct for record in records))}

    def release(self) -> None:
        return

    def _knobs(self) -> dict[str, Any]:
        knobs: dict[str, Any] = json.loads(self._knobs_file.read_text())
        return knobs


def normalise(observation: str) -> str:
    """Answers may carry a time in `<…>`, which legitimately differs."""
    return re.sub("<.*>", "", observation)


WORLD = World(
    environment=Breakable,
    max_interactions=4,
    do_nothing="end",
    reply_form=lambda environment: "Write one word, for example:\nwin",
    normalise=normalise,
)
