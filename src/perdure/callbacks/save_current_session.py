"""Keeps each session under way readable from outside, as `current_sessions/<place>.json`."""

from __future__ import annotations

import json
from pathlib import Path

from perdure.core.callback import Callback, CallbackContext
from perdure.core.types import JSON
from perdure.storage.files import replace_atomically


class SaveCurrentSession(Callback):
    """Writes sessions under way into the run folder, to watch long tasks. Resuming does not need it.

    Each has a file of its own, replaced at every event and removed when the session is over.
    """

    name = "save_current_session"
    reach = "watch"

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder / "current_sessions"

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Write the new session."""
        self._save(ctx)

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """Write it with its goal."""
        self._save(ctx)

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Write it with the raw reply."""
        self._save(ctx)

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        """Write it with the observation."""
        self._save(ctx)

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """Write it with its outcome."""
        self._save(ctx)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """It is over: its record is in the run."""
        self._path(ctx).unlink(missing_ok=True)

    def _path(self, ctx: CallbackContext) -> Path:
        return self._folder / f"{ctx.session.index}.json"

    def _save(self, ctx: CallbackContext) -> None:
        session = ctx.session
        body = {
            "v": 1,
            "index": session.index,
            "task": session.task_id,
            "repeat": session.repeat,
            "status": session.status,
            "outcome": session.evaluation.outcome,
            "finish_reason": session.finish_reason,
            "goal": session.goal,
            "turns": session.turns,
            "reply": session.reply.text if session.reply is not None else None,
            "history": [[message.role, message.text] for message in session.history],
        }
        replace_atomically(self._path(ctx), json.dumps(body, indent=1) + "\n", sync=False)


CALLBACK = SaveCurrentSession
