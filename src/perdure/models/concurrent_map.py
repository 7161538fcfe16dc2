"""Bounded threads over a batch, results in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def concurrent_map(
    function: Callable[[Item, Event], Result], items: Sequence[Item], max_workers: int
) -> list[Result]:
    """`function(item, stop)` for each item, at most `max_workers` at once, results in the items' order.

    The first failure is raised at once: `stop` is set, no further item is begun, and what is in flight is
    left to daemon threads, so that neither a failure nor Ctrl-C waits for slow servers.
    """
    if len(items) <= 1 or max_workers == 1:
        stop = Event()
        return [function(item, stop) for item in items]
    batch = _Batch(function, items)
    for _ in range(min(max_workers, len(items))):
        Thread(target=batch.work, daemon=True).start()
    return batch.wait()


class _Batch(Generic[Item, Result]):
    """Shared by the threads of one call."""

    def __init__(self, function: Callable[[Item, Event], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._begun = 0
        self._results: dict[int, Result] = {}
        self._failure: BaseException | None = None
        self._stop = Event()
        self._over = Event()
        self._lock = Lock()

    def work(self) -> None:
        while (position := self._next()) is not None:
            try:
                result = self._function(self._items[position], self._stop)
            except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
                self._fail(failure)
                return
            with self._lock:
                self._results[position] = result
                if len(self._results) == len(self._items):
                    self._over.set()

    def wait(self) -> list[Result]:
        try:
            self._over.wait()
        finally:
            self._stop.set()
        if self._failure is not None:
            raise self._failure
        return [self._results[position] for position in range(len(self._items))]

    def _next(self) -> int | None:
        with self._lock:
            if self._stop.is_set() or self._begun == len(self._items):
                return None
            self._begun += 1
            return self._begun - 1

    def _fail(self, failure: BaseException) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = failure
        self._stop.set()
        self._over.set()
