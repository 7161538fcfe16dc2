"""The reading side of a run folder: finished sessions, their calls, what they cost, and tasks under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import overload

from perdure.core.errors import RunFolderError
from perdure.core.session import PastSession, PastSessions, SessionRecord
from perdure.core.types import JSON, Message
from perdure.storage.blobs import BlobReader
from perdure.storage.call_lines import LogContent, read_log
from perdure.storage.files import is_sealed, line_at, lines_from, parse_object, read_sealed
from perdure.storage.ledger import LedgerReader, ledger_line, rows_that_count
from perdure.storage.records import (
    RecordedCall,
    check_session,
    decode_calls,
    decode_history_items,
    decode_past,
    decode_slim,
)
from perdure.storage.session_index import SessionIndex, refuse_other_schema

CALLS_FOLDER = "calls"
METRICS_FILE = "metrics.json"


@dataclass(frozen=True)
class OpenTask:
    """A call log that no session was committed from: of a task under way, or one that was set aside."""

    path: Path
    log: LogContent

    @property
    def index(self) -> int | None:
        """The place in the schedule that it is for, or None for one that was set aside."""
        name = self.path.stem
        return int(name) if name.isdecimal() else None

    def ledger_line(self) -> dict[str, JSON]:
        """What it cost so far, as the ledger will say it."""
        header = self.log.header
        place, task, repeat = header.get("index", -1), header.get("task", ""), header.get("repeat", 0)
        return ledger_line(place, task, repeat, self.log.times, self.log.charges)


class RunReader(PastSessions):
    """Finished sessions of a run folder, read when indexed: only offsets and ids stay in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.committed = SessionIndex(folder)
        self._blobs = BlobReader(folder / "blobs")
        self._ledger = LedgerReader(folder / "ledger.jsonl")
        self._past = lru_cache(maxsize=64)(self._read_past)

    def __len__(self) -> int:
        return len(self.committed)

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

    def refresh(self) -> None:
        """Take in what was committed since; only that is read."""
        self.committed.refresh()

    def line(self, index: int) -> dict[str, JSON]:
        """One committed line as it is, its seal aside. Raises RunFolderError for a damaged one."""
        index = range(len(self))[index]
        return self._parse(index, line_at(self.committed.path, self.committed.start(index)))

    def lines(self, start: int = 0) -> Iterator[dict[str, JSON]]:
        """Committed lines from `start` on, read in one go."""
        places = range(start, len(self))
        texts = lines_from(self.committed.path, self.committed.start(start)) if places else iter(())
        for index in places:
            yield self._parse(index, next(texts, b""))

    def _parse(self, index: int, text: bytes) -> dict[str, JSON]:
        with self._blamed(index):
            sealed = is_sealed(text)
            line = parse_object(text)
            refuse_other_schema(line, self.committed.path)
            if not sealed:
                raise ValueError("it is not what was written: its crc differs")
            del line["crc"]
            check_session(line)
            if line["index"] != index:
                raise ValueError(f"it holds session {line['index']} instead of {index}")
        return line

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order; no texts are read."""
        return (record for record, _ in self.results())

    def results(self) -> Iterator[tuple[SessionRecord, JSON]]:
        """The slim result of each session, and what its agent's strategy recorded; no texts are read."""
        for index, line in enumerate(self.lines()):
            with self._blamed(index):
                record = decode_slim(line)
            yield record, line["trace"]

    def calls(self, index: int) -> Iterator[RecordedCall]:
        """The model calls of one session, with exact prompts and the usage that the ledger tells."""
        line = self.line(index)
        charged = self._ledger.line(line["index"])
        rows = rows_that_count(charged) if charged is not None else []
        with self._blamed(index):
            yield from decode_calls(line, self._blobs.get, rows)

    def history_items(self, line: dict[str, JSON]) -> tuple[Message, ...] | None:
        """What a line says that the history factory holds after it; None where it does not say."""
        with self._blamed(line["index"]):
            return decode_history_items(line, self._blobs.get)

    def ledger(self) -> Iterator[dict[str, JSON]]:
        """Token and time lines of the committed sessions; one that cannot be read is lost: passed over."""
        return (line for line in self._ledger.lines() if line["index"] < len(self))

    def charged(self) -> Iterator[dict[str, JSON]]:
        """Lines of the ledger, then of the tasks that are not committed: everything that was asked."""
        yield from self.ledger()
        for task in self.open_tasks():
            yield task.ledger_line()

    def metrics(self) -> dict[str, JSON] | None:
        """What `metrics.json` holds; None while the run is unfinished. Raises RunFolderError for damage."""
        return read_sealed(self.folder / METRICS_FILE)

    def open_tasks(self) -> Iterator[OpenTask]:
        """Tasks that were begun and are not committed, in schedule order, then those set aside."""
        paths = (self.folder / CALLS_FOLDER).glob("*.jsonl")
        for path in sorted(paths, key=lambda path: (not path.stem.isdecimal(), len(path.stem), path.stem)):
            if not path.stem.isdecimal() or int(path.stem) >= len(self):
                yield OpenTask(path, read_log(path))

    def _read_past(self, index: int) -> PastSession:
        line = self.line(index)
        with self._blamed(index):
            return decode_past(line, self._blobs.get)

    @contextmanager
    def _blamed(self, index: int) -> Iterator[None]:
        """What cannot be decoded is damage of this line, and is told in one line."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            what = f"it has no key {error}" if isinstance(error, KeyError) else error
            place = f"line {index + 1} of {str(self.committed.path)!r}"
            raise RunFolderError(f"{place} is damaged: {what}") from error
