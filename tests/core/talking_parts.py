"""Parts for `file.py:Class`: a world that asks a model, a fragile callback, one that edits openings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from perdure import Callback, CallbackContext, Message, ModelHandle, Request
from perdure.core.errors import ModelError
from perdure.core.parameters import Operational
from perdure.core.session import shown
from perdure.core.types import JSON, Observation
from perdure.core.world import World
from tests.core.worlds import WORLD as BREAKABLE
from tests.core.worlds import Breakable


class Talking(Breakable):
    """Asks a simulated user about every action."""

    def __init__(self, *, knobs: Annotated[Path, Operational], model: ModelHandle, tasks: int = 3) -> None:
        super().__init__(knobs=knobs, tasks=tasks)
        self._model = model

    def interact(self, action: str) -> Observation:
        (outcome,) = self._model.generate([Request((Message("user", f"user: {action}"),))])
        if isinstance(outcome, ModelError):
            raise outcome
        return super().interact(action)


WORLD = World(**{**vars(BREAKABLE), "environment": Talking})


class Fragile(Callback):
    """Raises on a reply while a file says which."""

    def __init__(self, *, breaks_on: Annotated[Path, Operational]) -> None:
        self._file = breaks_on

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        if self._file.exists() and shown(ctx.session.reply) == self._file.read_text():
            raise KeyError("a bug")


class Editor(Callback):
    """Adds a demonstration to the openings, of this task or of all later ones, and changes the first."""

    def __init__(self, *, early: bool = False) -> None:
        self._early = early
        self.done = 0

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        self.done = (state or 0) + sum(1 for _ in deltas)

    def on_session_create(self, ctx: CallbackContext) -> None:
        if self._early:
            self._edit(ctx)

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        if not self._early:
            self._edit(ctx)

    def _edit(self, ctx: CallbackContext) -> None:
        factory = ctx.environment.history_factory
        factory.extend([Message("user", f"shown by {ctx.session.task_id}"), Message("agent", "yes")])
        if len(factory.items()) > 2:
            factory.set(0, Message("user", f"changed by {ctx.session.task_id}"))

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        self.done += 1
        return self.done

    def snapshot_state(self) -> JSON:
        return self.done
