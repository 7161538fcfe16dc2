"""The writing side of a run folder: finished tasks become durable together, in one order.

blobs/           message texts, stored once             written and synced first
ledger.jsonl     tokens and seconds of every call       second
sessions.jsonl   one line a task; its append, synced, is the commit
index.jsonl      where those lines start; rebuilt where it is wrong
snapshots/       the full state every `snapshot_every` tasks, after the commit
calls/           call logs of the tasks under way; one is deleted when its task is committed
metrics.json     written when the run is through
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from threading import Lock

from perdure.core.recording import FinishedTask
from perdure.core.types import JSON, Trial
from perdure.storage.blobs import BlobWriter
from perdure.storage.call_log import CallLog, OnDivergence
from perdure.storage.files import (
    AppendLog,
    line_at,
    line_offsets,
    make_folder,
    remove,
    replace_atomically,
    seal,
    storage_errors,
    sync_folder,
)
from perdure.storage.ledger import ledger_line, read_ledger_line
from perdure.storage.records import SCHEMA_VERSION, encode_session
from perdure.storage.run_reader import CALLS_FOLDER, METRICS_FILE, RunReader
from perdure.storage.session_index import INDEX_FILE, SESSIONS_FILE
from perdure.storage.snapshots import Snapshot, Snapshots


class RunStore:
    """The writing side of a run folder; whoever makes it holds the folder's lock. Threads may share it."""

    def __init__(
        self, folder: Path, *, identity: str = "", snapshot_every: int = 50, fsync: bool = True
    ) -> None:
        self.folder = folder
        self._identity = identity
        self.snapshot_every = snapshot_every
        self._fsync = fsync
        self._lock = Lock()
        self._unindexed: list[str] = []
        with ExitStack() as opened:
            with storage_errors(folder):
                make_folder(folder, sync=fsync)
            self.past = RunReader(folder)
            """Finished sessions, lazy and read-only."""
            self._sessions = AppendLog(folder / SESSIONS_FILE, named=True)
            opened.callback(self._sessions.close)
            self._ledger = AppendLog(folder / "ledger.jsonl", named=True)
            opened.callback(self._ledger.close)
            self._blobs = BlobWriter(folder / "blobs")
            opened.callback(self._blobs.close)
            self._index = AppendLog(folder / INDEX_FILE, named=True)
            opened.callback(self._index.close)
            self._snapshots = Snapshots(folder / "snapshots", sync=fsync)
            self._drop_uncommitted()
            if fsync:
                self._sync_what_was_left()
            # Only now is it this object's to close: a folder that cannot be opened stays free.
            self._opened = opened.pop_all()

    def log(
        self,
        index: int,
        trial: Trial,
        *,
        on_divergence: OnDivergence = "restart",
        normalise: Callable[[str], str] = lambda text: text,
        check: Callable[[], None] = lambda: None,
    ) -> CallLog:
        """The call log of the task at one place of the schedule, taken up where it was begun already.

        `check` is called before each call and action, and may raise to stop the task there.
        """
        header = {
            "index": index,
            "task": trial.task_id,
            "repeat": trial.repeat,
            "identity": self._identity,
        }
        path = self.folder / CALLS_FOLDER / f"{index}.jsonl"
        return CallLog(path, header, on_divergence=on_divergence, normalise=normalise, check=check)

    def commit(self, tasks: Sequence[FinishedTask]) -> None:
        """Make finished tasks durable together: texts, then charges, then the append that is the commit.

        They continue the schedule, in its order. All or none are committed by this process; a crash may leave
        the first few. Raises StorageError.
        """
        with self._lock:
            blobs_end, ledger_end, sessions_end = self._blobs.end, self._ledger.end, self._sessions.end
            try:
                lines = [self._encode(task, place) for place, task in enumerate(tasks, len(self.past))]
                self._blobs.flush(sync=self._fsync)
                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)
                self._sessions.extend(lines, sync=self._fsync)
            except BaseException:
                self._sessions.truncate(sessions_end)
                self._ledger.truncate(ledger_end)
                self._blobs.forget()
                self._blobs.cut(blobs_end)
                raise
            grown = [
                self.past.committed.grow(task.session.task_id, task.session.repeat, len(line) + 1)
                for task, line in zip(tasks, lines, strict=True)
            ]
            for task in tasks:
                remove(self.folder / CALLS_FOLDER / f"{task.session.index}.jsonl")
            self._unindexed += map(seal, grown)

    def state(self, until: int | None = None) -> tuple[Snapshot, list[dict[str, JSON]]]:
        """The newest snapshot, its history items as they are then, and the callbacks' deltas after it.

        `until`: as it was after so many sessions; None: after all of them.
        """
        tasks = len(self.past) if until is None else until
        snapshot = self._snapshots.newest(tasks)
        items, deltas = snapshot.history_items, []
        for line in islice(self.past.lines(snapshot.tasks), tasks - snapshot.tasks):
            deltas.append(line["callbacks"])
            items = edited if (edited := self.past.history_items(line)) is not None else items
        return Snapshot(snapshot.tasks, snapshot.callbacks, items), deltas

    @property
    def until_snapshot(self) -> int:
        """How many more sessions there are until a snapshot is due."""
        return self.snapshot_every - len(self.past) % self.snapshot_every

    @property
    def snapshot_due(self) -> bool:
        """Whether the full state should be written now."""
        return len(self.past) % self.snapshot_every == 0

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Write the full state beside the commits."""
        self._snapshots.write(snapshot)
        self._write_index()

    def write_metrics(self, metrics: Mapping[str, JSON]) -> None:
        """Replace `metrics.json`."""
        body = seal({"v": SCHEMA_VERSION, **metrics}, indent=2)
        replace_atomically(self.folder / METRICS_FILE, body + "\n", sync=self._fsync)

    def close(self) -> None:
        """Close the files. Idempotent."""
        with ExitStack() as stack:
            stack.callback(self._opened.close)
            self._write_index()

    def _write_index(self) -> None:
        """Not after each commit: a restore that finds it short reads the sessions since the last snapshot."""
        with self._lock:
            if self._unindexed:
                self._index.extend(self._unindexed)
                self._unindexed.clear()

    def _encode(self, task: FinishedTask, place: int) -> str:
        if task.session.index != place:
            raise ValueError(f"session {task.session.index} cannot be committed as number {place}")
        record = encode_session(task, self._blobs.put)
        record["blobs"] = self._blobs.end
        self._blobs.trim()
        return seal(record)

    def _drop_uncommitted(self) -> None:
        """What a crash left beyond the last commit is owed again: its call log still holds it."""
        done = len(self.past)
        self._sessions.truncate(self.past.committed.end)
        self._blobs.cut(self.past.line(-1)["blobs"] if done else 0)
        for offset in reversed(array("Q", line_offsets(self._ledger.path))):
            line = read_ledger_line(line_at(self._ledger.path, offset))
            if line is not None and line["index"] < done:
                break
            self._ledger.truncate(offset)
        self.past.committed.write(self._index)
        for path in (self.folder / CALLS_FOLDER).glob("*.jsonl"):
            if path.stem.isdecimal() and int(path.stem) < done:
                remove(path)

    def _sync_what_was_left(self) -> None:
        """The files' names; and a last session that a killed process wrote, for now it is built upon."""
        self._sessions.sync()
        for folder in (self.folder / "blobs", self.folder, self.folder.parent):
            sync_folder(folder)


def _ledger_line(task: FinishedTask) -> str:
    session = task.session
    return seal(ledger_line(session.index, session.task_id, session.repeat, task.times, task.charges))
