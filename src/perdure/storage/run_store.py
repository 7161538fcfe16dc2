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
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import overload

from perdure.core.errors import RunFolderError
from perdure.core.model import CallCharge
from perdure.core.recording import CommittedSessions
from perdure.core.session import PastSession, Session, SessionRecord
from perdure.core.types import JSON
from perdure.storage.blobs import BlobReader, BlobWriter
from perdure.storage.files import (
    AppendLog,
    FolderLock,
    is_sealed,
    line_offsets,
    parse_object,
    reading,
    replace_atomically,
    seal,
)
from perdure.storage.journal import Journal
from perdure.storage.records import (
    SCHEMA_VERSION,
    RecordedCall,
    check_ledger,
    check_session,
    decode_calls,
    decode_past,
    decode_slim,
    encode_ledger,
    encode_session,
)

__all__ = ["Journal", "RunReader", "RunStore", "Snapshots"]


class RunReader(CommittedSessions):
    """Finished sessions of a run folder, read when indexed: nothing but offsets stays in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "sessions.jsonl"
        self._offsets = _committed_lines(self._path)
        self._blobs = BlobReader(folder / "blobs")
        self._ledger = _Ledger(folder / "ledger.jsonl")
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
        """One committed line as it is, its seal aside. Raises RunFolderError for a damaged one."""
        index = range(len(self))[index]
        text = _line_at(self._path, self._offsets[index])
        with self._blamed(index):
            sealed = is_sealed(text)
            line = parse_object(text)
            _refuse_newer(line, self._path)
            if not sealed:
                raise ValueError("it is not what was written: its crc differs")
            del line["crc"]
            check_session(line)
            if line["index"] != index:
                raise ValueError(f"it holds session {line['index']} instead of {index}")
        return line

    def lines(self, start: int = 0) -> Iterator[dict[str, JSON]]:
        """Committed lines from `start` on."""
        return (self.line(index) for index in range(start, len(self)))

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order; no texts are read."""
        for index, line in enumerate(self.lines()):
            with self._blamed(index):
                record = decode_slim(line)
            yield record

    def calls(self, index: int) -> Iterator[RecordedCall]:
        """The model calls of one session, with exact prompts and the usage that the ledger tells."""
        line = self.line(index)
        with self._blamed(index):
            yield from decode_calls(line, self._blobs.get, self._ledger.charges(line["index"]))

    def ledger(self) -> Iterator[dict[str, JSON]]:
        """Token and time lines of the committed sessions; one that cannot be read is lost: passed over."""
        return (line for line in self._ledger.lines() if line["index"] < len(self))

    def _read_past(self, index: int) -> PastSession:
        line = self.line(index)
        with self._blamed(index):
            return decode_past(line, self._blobs.get)

    def _committed(self, offset: int) -> None:
        self._offsets.append(offset)

    @contextmanager
    def _blamed(self, index: int) -> Iterator[None]:
        """What cannot be decoded is damage of this line, and is told in one line."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            what = f"it has no key {error}" if isinstance(error, KeyError) else error
            raise RunFolderError(f"line {index + 1} of {str(self._path)!r} is damaged: {what}") from error


class _Ledger:
    """Lines of tokens and times. They are no commits and are not synced: one that cannot be read is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[int, int] = {}
        self._scanned = 0

    def lines(self) -> Iterator[dict[str, JSON]]:
        """Every line that can be read."""
        return (line for text in self._texts(0) if (line := _ledger_line(text)) is not None)

    def charges(self, index: int) -> list[list[JSON]]:
        """The rows of one session; none where its line is lost."""
        if index not in self._places:
            for text in self._texts(self._scanned):
                if (found := _ledger_line(text)) is not None:
                    self._places[found["index"]] = self._scanned
                self._scanned += len(text)
        if index not in self._places:
            return []
        line = _ledger_line(_line_at(self._path, self._places[index]))
        return list(line["calls"]) if line is not None else []

    def _texts(self, start: int) -> Iterator[bytes]:
        """The complete lines from a byte offset on."""
        if not self._path.exists():
            return
        with reading(self._path) as file:
            file.seek(start)
            yield from (text for text in file if text.endswith(b"\n"))


def _ledger_line(text: bytes) -> dict[str, JSON] | None:
    try:
        line = parse_object(text)
        check_ledger(line)
    except ValueError:
        return None
    return line


def _line_at(path: Path, offset: int) -> bytes:
    with reading(path) as file:
        file.seek(offset)
        return file.readline()


def _committed_lines(path: Path) -> array[int]:
    """Offsets of the complete lines; a damaged last one is none: the machine died while it was written.

    A line of a newer version is nobody's damage. Raises RunFolderError for it.
    """
    offsets = array("Q", line_offsets(path))
    if offsets and not is_sealed(last := _line_at(path, offsets[-1])):
        with suppress(ValueError):
            _refuse_newer(parse_object(last), path)
        offsets.pop()
    return offsets


def _refuse_newer(line: Mapping[str, JSON], path: Path) -> None:
    if isinstance(line.get("v"), int) and line["v"] > SCHEMA_VERSION:
        raise RunFolderError(f"{str(path)!r} has schema {line['v']}, this version reads {SCHEMA_VERSION}")


class Snapshots:
    """Full callback states, one file each, replaced atomically; the newest two are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for torn in folder.glob(".*.tmp"):
            torn.unlink(missing_ok=True)

    def write(self, tasks: int, states: Mapping[str, JSON]) -> None:
        """Keep the state after `tasks` committed tasks. Raises StorageError."""
        body = {"v": SCHEMA_VERSION, "tasks": tasks, "callbacks": states}
        replace_atomically(self._folder / f"{tasks:08d}.json", seal(body))
        for old in sorted(self._folder.glob("*.json"))[:-2]:
            old.unlink(missing_ok=True)

    def newest(self, tasks: int) -> tuple[int, dict[str, JSON]]:
        """The last readable state that is not ahead of `tasks` commits: (its task count, states)."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            try:
                text = path.read_bytes()
                body = parse_object(text) if is_sealed(text) else {}
            except (OSError, ValueError):
                continue
            match body:
                case {"tasks": int(done), "callbacks": dict(states)} if 0 < done <= tasks:
                    return done, states
            # A damaged one is passed over: an older one and the deltas after it say the same.
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
            self._drop_damaged_tail()
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
            offset = self._sessions.append(seal(record), sync=self._fsync)
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

    def _drop_damaged_tail(self) -> None:
        """A crash of the machine may leave a last line of garbage: that task is owed again."""
        path = self.folder / "sessions.jsonl"
        kept = len(_committed_lines(path))
        damaged = next(islice(line_offsets(path), kept, None), None)
        if damaged is not None:
            self._sessions.truncate(damaged)

    def _drop_uncommitted_ledger(self) -> None:
        """A crash between the two appends of a commit leaves a line too many: that task is owed again."""
        path = self.folder / "ledger.jsonl"
        for offset in reversed(array("Q", line_offsets(path))):
            line = _ledger_line(_line_at(path, offset))
            if line is not None and line["index"] < len(self.past):
                return
            self._ledger.truncate(offset)
