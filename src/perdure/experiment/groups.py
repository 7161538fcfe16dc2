"""Commits what is finished every moment: an fsync takes longer than a quick task."""

from __future__ import annotations

import time
from collections.abc import Callable

from perdure.core.recording import FinishedTask

GROUP_SECONDS = 0.05
"""What is finished waits so long for its commit, at most: its call log is there in the meantime."""


class Groups:
    """Finished tasks, committed together. `room` says how many there may be before the next snapshot."""

    def __init__(self, commit: Callable[[list[FinishedTask]], None], room: Callable[[], int]) -> None:
        self._commit = commit
        self._room = room
        self._finished: list[FinishedTask] = []
        self._committed = float("-inf")  # the first one shows at once that the run goes on

    def add(self, task: FinishedTask) -> None:
        """One more is finished."""
        self._finished.append(task)
        is_full = len(self._finished) == self._room()
        if is_full or time.monotonic() - self._committed >= GROUP_SECONDS:
            self.commit()
            self._committed = time.monotonic()

    def commit(self) -> None:
        """Commit what waits."""
        finished, self._finished = self._finished, []
        self._commit(finished)
