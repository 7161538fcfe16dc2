"""Callbacks whose memory is read-only: every session meets them in the same state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import overload

from perdure.core.callback import Callback, CallbackContext, CallbackList
from perdure.core.session import PastSession, PastSessions, SessionRecord
from perdure.core.types import JSON


class NoPastSessions(PastSessions):
    """What a callback without a past sees."""

    def __len__(self) -> int:
        return 0

    @overload
    def __getitem__(self, index: int) -> PastSession: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PastSession]: ...
    def __getitem__(self, index: int | slice) -> PastSession | Sequence[PastSession]:
        if isinstance(index, slice):
            return []
        raise IndexError(index)

    def records(self) -> Iterator[SessionRecord]:
        """None."""
        return iter(())


class FrozenCallbacks(CallbackList):
    """Builds the learning callbacks anew for each session, from one state and one past.

    They help the agent as ever, but neither see `on_environment_complete` (where they would learn, and spend
    tokens on it) nor are asked for a delta. `watchers` are plain callbacks that see everything.
    """

    def __init__(
        self,
        build: Callable[[], Iterable[Callback]],
        *,
        watchers: Iterable[Callback] = (),
        past: PastSessions | None = None,
        states: Mapping[str, JSON] | None = None,
        deltas: Sequence[Mapping[str, JSON]] = (),
    ) -> None:
        super().__init__(watchers)
        self._build = build
        self._past = past if past is not None else NoPastSessions()
        # As text: a callback may keep and change what it is given.
        self._state = json.dumps([states or {}, list(deltas)])
        self._memory = CallbackList()

    def fire(self, event: str, ctx: CallbackContext) -> None:
        """Learning callbacks first, in the frozen state and with the frozen past; then the watchers."""
        if event == "on_session_create":
            self._thaw()
        if event != "on_environment_complete":
            self._memory.fire(event, replace(ctx, past_sessions=self._past))
        super().fire(event, ctx)

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
