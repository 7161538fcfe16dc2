"""A callback that notes every event and may do something in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from perdure.core.callback import Callback, CallbackContext
from perdure.core.types import JSON

HANDLERS = (
    "on_session_create",
    "on_environment_reset",
    "on_agent_inference",
    "on_environment_interact",
    "on_environment_complete",
)


class Spy(Callback):
    """Notes every event; `act` may do something in it."""

    def __init__(
        self,
        log: list[tuple[str, str]],
        name: str = "spy",
        act: Callable[[str, CallbackContext], None] = lambda event, ctx: None,
    ) -> None:
        self.log, self.name, self._act = log, name, act
        self.saved = 0

    def _note(self, event: str, ctx: CallbackContext) -> None:
        self.log.append((self.name, event))
        self._act(event, ctx)

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        self.log.append((self.name, "restore_state"))
        self.saved = max([state or 0, *(delta for delta in deltas if delta is not None)])

    def on_session_create(self, ctx: CallbackContext) -> None:
        self._note("on_session_create", ctx)

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        self._note("on_environment_reset", ctx)

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        self._note("on_agent_inference", ctx)

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        self._note("on_environment_interact", ctx)

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        self._note("on_environment_complete", ctx)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        self._note("on_state_save", ctx)
        self.saved += 1
        return self.saved

    def snapshot_state(self) -> JSON:
        return self.saved


def counted(log: list[tuple[str, str]]) -> Counter[str]:
    return Counter(event for _, event in log)


def events(log: list[tuple[str, str]]) -> list[str]:
    return [event for _, event in log]
