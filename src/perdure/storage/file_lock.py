"""The lock on one file: one holder at a time, whoever and wherever the others are."""

from __future__ import annotations

import os
import sys
import weakref
from functools import cache
from pathlib import Path

from perdure.core.errors import StorageError


class FileLock:
    """Holds one file; the system frees it when the holder dies.

    The lock is on the file itself, so that every name of it (a symlink, a hard link) leads to the same lock,
    and it keeps out a second holder in this process as it does another process. A process that is forked
    from the holder does not hold it. Raises BlockingIOError when somebody else holds the file, another
    OSError when files cannot be locked here, and StorageError when it cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
        # Also when the holder is forgotten without being released.
        self._free = weakref.finalize(self, os.close, self._fd)
        try:
            acquire(self._fd)
        except OSError:
            self._free()
            raise
        _held_here().add(self)

    @property
    def is_held(self) -> bool:
        """Whether the file is still this one's own, and still what its path leads to."""
        if not self._free.alive:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def release(self) -> None:
        """Let others in. Idempotent."""
        self._free()

    def disown(self) -> None:
        """Leave the lock to the process that this one was forked from."""
        if self._free.detach():
            os.close(self._fd)


@cache
def _held_here() -> weakref.WeakSet[FileLock]:
    """Every lock of this process. A forked child would keep them, after its parent's death too."""
    held: weakref.WeakSet[FileLock] = weakref.WeakSet()

    def disown_all() -> None:
        for lock in list(held):
            lock.disown()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=disown_all)
    return held


def acquire(descriptor: int) -> None:
    """Lock an open file without waiting. Raises OSError, on Linux BlockingIOError, when it is locked."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
