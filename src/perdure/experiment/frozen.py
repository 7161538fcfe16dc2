"""Callbacks whose memory is read-only: every session meets them in the same state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from perdure.core.callback import Callback, CallbackContext, CallbackList
from perdure.core.session import NoPastSessions, PastSessions
from perdure.core.types import JSON


class FrozenCallbacks(CallbackList):
    """Builds the callbacks that learn anew for each session, from one state and one past.

    They help the agent as ever, but neither see `on_environment_complete` (where they would learn, and spend
    tokens on it) nor are asked for a delta. `others` are plain callbacks that see everything. Handlers run in
    the order of `labels`, where it names them.
    """

    def __init__(
        self,
        build: Callable[[], Iterable[Callback]],
        *,
        others: Iterable[Callback] = (),
        labels: Iterable[str] = (),
        past: PastSessions | None = None,
        states: Mapping[str, JSON] | None = None,
        deltas: Sequence[Mapping[str, JSON]] = (),
    ) -> None:
        super().__init__(others)
        self._build = build
        self._order = {label: place for place, label in enumerate(labels)}
        self._past = past if past is not None else NoPastSessions()
        # As text: a callback may keep and change what it is given.
        self._state = json.dumps([states or {}, list(deltas)])
        self._memory = CallbackList()

    def fire(self, event: str, ctx: CallbackContext) -> None:
        """Everybody in order; those that learn in the frozen state and with the frozen past."""
        if event == "on_session_create":
            self._thaw()
        learning = dict(self._memory.items())
        everybody = [*learning, *(label for label, _ in self.items())]
        for label in sorted(everybody, key=lambda label: self._order.get(label, 0)):
            if label not in learning:
                self.fire_one(label, event, ctx)
            elif event != "on_environment_complete":
                self._memory.fire_one(label, event, replace(ctx, past_sessions=self._past))

    def close(self) -> None:
        """Close everybody."""
        self._memory.close()
        super().close()

    def _thaw(self) -> None:
        self._memory.close()
        self._memory = CallbackList(self._build())
        states, deltas = json.loads(self._state)
        if len(self._past):
            self._memory.restore(states, deltas)
