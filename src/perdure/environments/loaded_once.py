"""Read-only data that a process loads once, however many instances of an environment want it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Loaded(Generic[T]):
    """Something loaded. Whoever uses `value` holds this: it is freed with its last holder."""

    def __init__(self, value: T) -> None:
        self.value = value


class LoadedOnce(Generic[T]):
    """What was loaded, by key; a key says everything that the result hangs on, contents of files included.

    Threads that ask for one key at once wait for the one that loads it. What they share is never changed.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: WeakValueDictionary[Hashable, Loaded[T]] = WeakValueDictionary()

    def get(self, key: Hashable, load: Callable[[], T]) -> Loaded[T]:
        """What was loaded under this key and is still held, or else what `load` gives."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                found = self._held[key] = Loaded(load())
            return found
