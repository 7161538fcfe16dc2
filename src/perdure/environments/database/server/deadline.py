"""Ends a statement on the server when its time is over, from another connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Deadline:
    """A context in which one statement runs; `kill` is called at most once, and never after the context.

    `passed` says that time ran out. A kill that fails leaves the statement to its connection's own timeout.
    """

    def __init__(self, seconds: float, kill: Callable[[], object]) -> None:
        self.passed = False
        self._kill = kill
        self._lock = threading.Lock()
        self._open = True
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._open = False

    def strike(self) -> None:
        """Kill now, without the time being over."""
        with self._lock:
            self._strike()

    def _expire(self) -> None:
        with self._lock:
            self.passed = self._open
            self._strike()

    def _strike(self) -> None:
        from perdure.environments.database.server.link import ConnectionLost, StatementRefused

        if not self._open:
            return
        self._open = False
        try:
            self._kill()
        except (ConnectionLost, StatementRefused):
            return  # the server is gone, or the statement is: its own connection finds out
