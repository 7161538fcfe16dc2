"""A run with everything that must survive a crash: a model, a learning callback that asks it too, retries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perdure import Callback, CallbackContext, Message, ModelHandle, Request
from perdure.core.errors import ModelError
from perdure.core.randomness import keyed_random
from perdure.core.types import JSON, Completion

MODEL_LOG = "PERDURE_TEST_MODEL_LOG"


def reply(request: Request) -> str:
    """A deterministic model of the counter: reads the prompt, sometimes answers badly. Logs each question."""
    log = os.environ.get(MODEL_LOG)
    if log:
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, b"asked\n")
        os.close(descriptor)
    last = request.messages[-1].text
    if last.startswith("Lesson?"):
        return f"lesson {len(request.messages[0].text)}"
    if keyed_random(7, last, len(request.messages)).random() < 0.3:
        return "Let me think." if "Answer again" not in last else "Action: read"
    value = int(last.split("counter is at ")[1].split(".")[0]) if "counter is at " in last else 0
    goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
    gap = int(goal.split("counter to ")[1].split(",")[0]) - value
    return "Action: done" if gap == 0 else f"Action: add {max(-9, min(9, gap))}"


class Lessons(Callback):
    """Asks the model for a lesson after each task and shows the last three in the next."""

    name = "lessons"

    def __init__(self, *, model: ModelHandle) -> None:
        self._model = model
        self._lessons: list[str] = []

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        self._lessons = [*(state or []), *(delta for delta in deltas if delta is not None)]

    def on_session_create(self, ctx: CallbackContext) -> None:
        ctx.session.experience.extend(self._lessons[-3:])

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        prompt = (
            Message("system", "\n".join(self._lessons)),
            Message("user", f"Lesson? {ctx.session.record().status}"),
        )
        outcome = self._model.generate([Request(prompt)])[0]
        assert not isinstance(outcome, ModelError)
        self._lessons.append(f"{ctx.session.task_id}: {outcome.text}")

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        return self._lessons[-1]

    def snapshot_state(self) -> JSON:
        return self._lessons


def config(tasks: int = 6) -> dict[str, Any]:
    """The run, as a configuration."""
    here = Path(__file__)
    return {
        "name": "learner",
        "environment": {"name": "counter", "tasks": tasks},
        "models": {"default": {"provider": "scripted", "replies": f"{here}:reply"}},
        "callbacks": [
            {"name": f"{here}:Lessons", "model": "default"},
            {"name": "regenerate_on_invalid_action"},
            {"name": "abort_on_agent_errors"},
        ],
        "execution": {"snapshot_every": 2},
    }


__all__ = ["MODEL_LOG", "Completion", "Lessons", "config", "reply"]
