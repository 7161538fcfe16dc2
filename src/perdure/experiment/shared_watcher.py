"""A watcher that several lanes share: one instance a run, called by one lane at a time."""

from __future__ import annotations

from threading import RLock

from perdure.core.callback import Callback, CallbackContext, label_of
from perdure.core.types import JSON


class SharedWatcher(Callback):
    """Passes every event on under a lock. Closing it does nothing: the run closes the watcher itself."""

    reach = "watch"

    def __init__(self, watcher: Callback, lock: RLock) -> None:
        self.label = label_of(watcher)
        self._watcher = watcher
        self._lock = lock

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Pass it on."""
        with self._lock:
            self._watcher.on_session_create(ctx)

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """Pass it on."""
        with self._lock:
            self._watcher.on_environment_reset(ctx)

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Pass it on."""
        with self._lock:
            self._watcher.on_agent_inference(ctx)

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        """Pass it on."""
        with self._lock:
            self._watcher.on_environment_interact(ctx)

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """Pass it on."""
        with self._lock:
            self._watcher.on_environment_complete(ctx)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """Pass it on; a watcher has no state."""
        with self._lock:
            return self._watcher.on_state_save(ctx)
