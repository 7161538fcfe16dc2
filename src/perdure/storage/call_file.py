"""The file of a call log: sealed lines, appended; what does not matter yet may wait to be written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from perdure.core.types import JSON
from perdure.storage.call_lines import LogContent, read_log
from perdure.storage.files import AppendLog, move_aside, seal

_LONGEST_WAIT = 1.0
"""Seconds that a line may wait; the next one that does not wait is written after it."""


class CallFile:
    """Lines of one log, in their order. Made with its first line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log: AppendLog | None = None
        self._waiting: list[str] = []
        self._written = time.monotonic()

    def left_behind(self, header: Mapping[str, JSON]) -> LogContent:
        """What stands there, if it is this trial's; what is another's is set aside: it stays charged."""
        content = read_log(self._path)
        if not content.header and not content.damaged:
            return LogContent()
        if {**content.header, "is": "log", "started": 0} == {**header, "is": "log", "started": 0}:
            return content
        number = 0
        while (target := self._path.with_suffix(f".aside-{number}.jsonl")).exists():
            number += 1
        move_aside(self._path, target)
        return LogContent()

    def append(self, *lines: Mapping[str, JSON], wait: bool = False) -> None:
        """Write lines, or let them wait for the next one. Raises StorageError."""
        self._waiting += map(seal, lines)
        if not wait or time.monotonic() - self._written > _LONGEST_WAIT:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self._file().extend(self._waiting)
            self._waiting.clear()
            self._written = time.monotonic()

    def sync(self) -> None:
        """Make what is written durable."""
        self._file().sync()

    def close(self) -> None:
        """Close the file; what waits is not written. Idempotent."""
        self._waiting.clear()
        if self._log is not None:
            self._log.close()

    def _file(self) -> AppendLog:
        if self._log is None:
            self._log = AppendLog(self._path, named=True)  # one that vanishes costs calls, no session
        return self._log
