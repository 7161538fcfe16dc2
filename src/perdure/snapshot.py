"""The run folder: one append a task is the commit; snapshots bound what a restore must read.

sessions.jsonl   one line a task: the session and every callback's delta; fsynced, this is the commit
journal.jsonl    calls and observations of the task under way
blobs/           message texts, stored once
snapshots/       full callback state every `snapshot_every` tasks
ledger.jsonl     tokens and seconds: everything that differs between two runs of the same thing
metrics.json     written when the run is through
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import overload

from perdure.blobs import BlobReader, BlobWriter
from perdure.errors import RunFolderError
from perdure.journal import Journal
from perdure.model import CallCharge
from perdure.records import (
    SCHEMA_VERSION,
    RecordedCall,
    decode_calls,
    decode_past,
    decode_slim,
    encode_ledger,
    encode_session,
)
from perdure.session import PastSession, PastSessions, Session, SessionRecord
from perdure.storage import AppendLog, FolderLock, line_offsets, replace_atomically
from perdure.types import JSON

__all__ = ["Journal", "RunReader", "RunStore", "Snapshots"]


class RunReader(PastSessions):
    """Finished sessions of a run folder, read when indexed: nothing but offsets stays in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "sessions.jsonl"
        self._offsets = array("Q", line_offsets(self._path))
        self._blobs = BlobReader(folder / "blobs")
        self._ledger_offsets: array[int] | None = None
        self._past = lru_cache(maxsize=64)(self._read_past)

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> PastSession: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PastSession]: ...
    def __getitem__(self, index: int | slice) -> PastSession | Sequence[PastSession]:
        if isinstance(index, slice):
            return [self._past(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._past(index % len(self))

    def line(self, index: int) -> dict[str, JSON]:
        """One committed line as it is. Raises RunFolderError for a damaged one."""
        with self._path.open("rb") as file:
            file.seek(self._offsets[index])
            text = file.readline()
        line = _parsed(text, self._path, index)
        if line["v"] > SCHEMA_VERSION:
            raise RunFolderError(
                f"{str(self._path)!r} has schema {line['v']}, this version reads {SCHEMA_VERSION}"
            )
        return line

    def lines(self, start: int = 0) -> Iterator[dict[str, JSON]]:
        """Committed lines from `start` on."""
        return (self.line(index) for index in range(start, len(self)))

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order; no texts are read."""
        return (decode_slim(line) for line in self.lines())

    def calls(self, index: int) -> Iterator[RecordedCall]:
        """The model calls of one session, with exact prompts and the usage that the ledger tells."""
        return decode_calls(self.line(index), self._blobs.get, self._charges(index))

    def ledger(self) -> Iterator[dict[str, JSON]]:
        """Token and time lines of the committed sessions."""
        path = self.folder / "ledger.jsonl"
        if not path.exists():
            return
        with path.open("rb") as file:
            for number, text in enumerate(file):
                if text.endswith(b"\n") and (line := _parsed(text, path, number))["index"] < len(self):
                    yield line

    def _charges(self, index: int) -> list[list[JSON]]:
        """The ledger's rows of one session; none where the ledger lost it. Lines are found by position."""
        if self._ledger_offsets is None or index >= len(self._ledger_offsets):
            self._ledger_offsets = array("Q", line_offsets(self.folder / "ledger.jsonl"))
        # A line may be missing, never one too many before it: look at the place and downwards.
        for position in range(min(index, len(self._ledger_offsets) - 1), -1, -1):
            with (self.folder / "ledger.jsonl").open("rb") as file:
                file.seek(self._ledger_offsets[position])
                line = _parsed(file.readline(), self.folder / "ledger.jsonl", position)
            if line["index"] <= index:
                return list(line["calls"]) if line["index"] == index else []
        return []

    def _read_past(self, index: int) -> PastSession:
        return decode_past(self.line(index), self._blobs.get)

    def _committed(self, offset: int) -> None:
        self._offsets.append(offset)


def _parsed(text: bytes, path: Path, index: int) -> dict[str, JSON]:
    """One line of a log. Raises RunFolderError, which names it, when it is damaged."""
    try:
        line = json.loads(text)
        if not isinstance(line, dict):
            raise ValueError("it holds no object")
    except ValueError as error:
        raise RunFolderError(f"line {index + 1} of {str(path)!r} is damaged: {error}") from error
    return line


class Snapshots:
    """Full callback states, one file each, replaced atomically; the newest two are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for torn in folder.glob(".*.tmp"):
            torn.unlink(missing_ok=True)

    def write(self, tasks: int, states: Mapping[str, JSON]) -> None:
        """Keep the state after `tasks` committed tasks. Raises StorageError."""
        body = {"v": SCHEMA_VERSION, "tasks": tasks, "callbacks": states}
        replace_atomically(self._folder / f"{tasks:08d}.json", json.dumps(body))
        for old in sorted(self._folder.glob("*.json"))[:-2]:
            old.unlink(missing_ok=True)

    def newest(self, tasks: int) -> tuple[int, dict[str, JSON]]:
        """The last readable state that is not ahead of `tasks` commits: (its task count, states)."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            try:
                body = json.loads(path.read_text("utf-8"))
                if body["tasks"] <= tasks:
                    return body["tasks"], body["callbacks"]
            except (ValueError, KeyError, TypeError):
                # Damaged: an older one and the deltas after it say the same.
                continue
        return 0, {}


class RunStore:
    """The writing side of a run folder, held by one process."""

    def __init__(self, folder: Path, *, snapshot_every: int = 50, fsync: bool = True) -> None:
        self.folder = folder
        self._snapshot_every = snapshot_every
        self._fsync = fsync
        with ExitStack() as opened:
            lock = FolderLock(folder)
            opened.callback(lock.release)
            self._sessions = AppendLog(folder / "sessions.jsonl")
            opened.callback(self._sessions.close)
            self._drop_unreadable_tail()
            self._ledger = AppendLog(folder / "ledger.jsonl")
            opened.callback(self._ledger.close)
            self._blobs = BlobWriter(folder / "blobs")
            opened.callback(self._blobs.close)
            self._snapshots = Snapshots(folder / "snapshots")
            self.past = RunReader(folder)
            """Finished sessions, lazy and read-only."""
            self._drop_uncommitted_ledger()
            # Only now is it this object's to close: a folder that cannot be opened stays free.
            self._opened = opened.pop_all()

    def callback_state(self) -> tuple[dict[str, JSON], list[dict[str, JSON]]]:
        """The newest snapshot and the deltas committed after it."""
        tasks, states = self._snapshots.newest(len(self.past))
        return states, [line["callbacks"] for line in self.past.lines(tasks)]

    def commit(
        self,
        session: Session,
        journal: Journal,
        deltas: Mapping[str, JSON],
        charges: Iterable[CallCharge],
    ) -> None:
        """Make one finished session durable: texts, then tokens, then the append that is the commit."""
        record = encode_session(session, journal.calls, deltas, self._blobs.put)
        self._blobs.flush(sync=self._fsync)
        ledger_end = self._ledger.end
        ledger = encode_ledger(
            session,
            charges,
            seconds=journal.seconds,
            restarts=journal.restarts,
            divergences=journal.divergences,
        )
        self._ledger.append(json.dumps(ledger, separators=(",", ":")))
        try:
            offset = self._sessions.append(json.dumps(record, separators=(",", ":")), sync=self._fsync)
        except BaseException:
            self._ledger.truncate(ledger_end)
            raise
        self.past._committed(offset)
        journal.end()

    @property
    def snapshot_due(self) -> bool:
        """Whether a full callback state should be written now."""
        return len(self.past) % self._snapshot_every == 0

    def write_snapshot(self, states: Mapping[str, JSON]) -> None:
        """Write the full callback state beside the commits."""
        self._snapshots.write(len(self.past), states)

    def write_metrics(self, metrics: Mapping[str, JSON]) -> None:
        """Replace `metrics.json`."""
        body = {"v": SCHEMA_VERSION, **metrics}
        replace_atomically(self.folder / "metrics.json", json.dumps(body, indent=2) + "\n")

    def close(self) -> None:
        """Close the files and let another process in. Idempotent."""
        self._opened.close()

    def _drop_unreadable_tail(self) -> None:
        """A crash of the machine may leave a last line of garbage: that task is owed again."""
        path = self.folder / "sessions.jsonl"
        last = None
        for last in line_offsets(path):  # noqa: B007 - only the last one is wanted
            pass
        if last is None:
            return
        with path.open("rb") as file:
            file.seek(last)
            try:
                json.loads(file.readline())
            except ValueError:
                self._sessions.truncate(last)

    def _drop_uncommitted_ledger(self) -> None:
        """A crash between the two appends of a commit leaves a line too many: that task is owed again."""
        path = self.folder / "ledger.jsonl"
        offsets = list(line_offsets(path))
        with path.open("rb") as file:
            while offsets:
                file.seek(offsets[-1])
                if _parsed(file.readline(), path, len(offsets) - 1)["index"] < len(self.past):
                    return
                self._ledger.truncate(offsets.pop())
