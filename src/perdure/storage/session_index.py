"""Where each committed session's line starts and which trial it is: `index.jsonl`, rebuilt where it is wrong.

Without it a restore would have to read every session to know which tasks are done.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from perdure.core.errors import RunFolderError
from perdure.core.types import JSON
from perdure.storage.files import AppendLog, is_sealed, line_at, lines_from, parse_object, seal, unseal
from perdure.storage.records import SCHEMA_VERSION

SESSIONS_FILE = "sessions.jsonl"
INDEX_FILE = "index.jsonl"


class SessionIndex:
    """The lines of `sessions.jsonl` that are committed. Raises RunFolderError where it cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SESSIONS_FILE
        self._index_path = folder / INDEX_FILE
        self._starts = array("Q")
        self._trials: list[tuple[str, int] | None] = []
        self.end = 0
        """Where the committed lines end."""
        self.damaged_end = False
        """Whether something stands after them that is none."""
        self._indexed = 0
        self._indexed_end = 0
        self._load()
        self.refresh()

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, index: int) -> int:
        """Offset of a session's line."""
        return self._starts[index]

    def trials(self) -> Iterator[tuple[str, int] | None]:
        """Task and repeat of each; None for a line that cannot be read."""
        return iter(self._trials)

    def refresh(self) -> None:
        """Take in what was committed since."""
        held: bytes | None = None
        for line in lines_from(self.path, self.end):
            if held is not None:
                self._add(held)
            held = line
        if held is not None and is_sealed(held):
            self._add(held)
        elif held is not None:
            # The machine may have died while it was written. A line of another version is nobody's damage.
            with suppress(ValueError):
                refuse_other_schema(parse_object(held), self.path)
        self.damaged_end = os.path.exists(self.path) and os.path.getsize(self.path) > self.end

    def grow(self, task: str, repeat: int, size: int) -> dict[str, JSON]:
        """A line of `size` bytes was committed; what the index file says of it."""
        entry = _entry(self.end, size, (task, repeat))
        self._trials.append((task, repeat))
        self._starts.append(self.end)
        self.end += size
        return entry

    def write(self, log: AppendLog) -> None:
        """Bring the index file up to date."""
        if log.end != self._indexed_end:
            log.truncate(self._indexed_end)
        log.extend(map(seal, self._entries_from(self._indexed)))

    def _load(self) -> None:
        for entry, size in self._read_entries():
            self.grow(entry["task"], entry["repeat"], entry["size"])
            self._indexed_end += size
        self._indexed = len(self)
        if self._indexed and not self._ends_as_indexed():
            self._starts, self._trials, self.end = array("Q"), [], 0
            self._indexed = self._indexed_end = 0

    def _read_entries(self) -> Iterator[tuple[dict[str, JSON], int]]:
        """Entries that follow each other without a gap, each with the size of its own line."""
        end = 0
        for line in lines_from(self._index_path):
            entry = unseal(line)
            if entry is None or entry.get("at") != end:
                return
            yield entry, len(line)
            end += entry["size"]

    def _ends_as_indexed(self) -> bool:
        """Whether the last indexed session is where the index says; then so are those before it."""
        if not os.path.isfile(self.path) or os.path.getsize(self.path) < self.end:
            return False
        text = line_at(self.path, self._starts[-1])
        last = unseal(text)
        if last is None or len(text) != self.end - self._starts[-1]:
            return False
        place = len(self) - 1
        return (last.get("index"), _trial(last)) == (place, self._trials[place])

    def _entries_from(self, first: int) -> Iterator[dict[str, JSON]]:
        """Entries of the sessions from one on, up to the first whose line is damaged."""
        ends = [*self._starts[first + 1 :], self.end]
        for start, end, trial in zip(self._starts[first:], ends, self._trials[first:], strict=False):
            if trial is None:
                return
            yield _entry(start, end - start, trial)

    def _add(self, line: bytes) -> None:
        fields = unseal(line)
        if fields is not None:
            refuse_other_schema(fields, self.path)
        self._trials.append(None if fields is None else _trial(fields))
        self._starts.append(self.end)
        self.end += len(line)


def _entry(start: int, size: int, trial: tuple[str, int]) -> dict[str, JSON]:
    return {"at": start, "size": size, "task": trial[0], "repeat": trial[1]}


def _trial(line: Mapping[str, JSON]) -> tuple[str, int] | None:
    match line:
        case {"task": str(task), "repeat": int(repeat)}:
            return task, repeat
    return None


def refuse_other_schema(line: Mapping[str, JSON], path: Path) -> None:
    """Raise RunFolderError for a line that another version of perdure wrote."""
    found = line.get("v")
    if isinstance(found, int) and found != SCHEMA_VERSION:
        raise RunFolderError(f"{str(path)!r} has schema {found}, this version reads {SCHEMA_VERSION}")
