"""Ends waits whose time is over, from one thread beside all that wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from threading import Condition, Thread


class Deadlines:
    """Calls `cut` for each wait that is still under way when its seconds are over.

    Safe to share between threads. The watching thread is a daemon: it begins with the first wait and ends by
    itself when it wakes and nothing is under way.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._open: dict[int, tuple[float, Callable[[], None]]] = {}
        self._keys = count()
        self._wakes = inf
        self._watching = False

    @contextmanager
    def within(self, seconds: float, cut: Callable[[], None]) -> Iterator[None]:
        """`cut` is called once if the block takes longer, and never after the block; it must be quick."""
        key = next(self._keys)
        ends = time.monotonic() + seconds
        with self._changed:
            self._open[key] = (ends, cut)
            if not self._watching:
                self._watching = True
                Thread(target=self._watch, name="deadlines", daemon=True).start()
            elif ends < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._open.pop(key, None)

    def close(self) -> None:
        """Let the watching thread end if nothing is under way. Idempotent."""
        with self._changed:
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while self._open:
                now = time.monotonic()
                for key, (ends, cut) in list(self._open.items()):
                    if ends <= now:
                        del self._open[key]
                        cut()
                self._wakes = min((ends for ends, _ in self._open.values()), default=now)
                self._changed.wait(self._wakes - now)
            self._watching = False
            self._wakes = inf
