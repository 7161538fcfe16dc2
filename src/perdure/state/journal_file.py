"""The journal file of a `StateAgent`: a line before and a line after every action, held by one open agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.core.errors import ConfigError, StorageError
from perdure.core.types import JSON
from perdure.state.changes import diff, same
from perdure.state.journal import JournalEntry, PatchJournal, state_hash
from perdure.state.paths import Path as FieldPath
from perdure.state.paths import pointer
from perdure.state.rendering import readable
from perdure.state.runtime import FailedReply
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure, FailureClass
from perdure.state.validation import Misfit
from perdure.storage.file_lock import FileLock
from perdure.storage.files import AppendLog, is_sealed, parse_object, seal

_VERSION = 2
_BEGINNING = b'{"kind":"schema","v":'

Outcome: TypeAlias = Literal["accepted", "refused", "raised", "unknown", "none"]
"""Of a step's action; `raised`: its tool failed, `unknown`: nobody saw it, `none`: there was no action."""


@dataclass
class Restored:
    """What a journal file says. `pending` is an action whose outcome was never written."""

    journal: PatchJournal
    schema: JSON
    failures: list[FailedReply] = field(default_factory=list)
    step: int = 0
    goal: str = ""
    started_at: int = 0
    running: bool = False
    observation: str | None = None
    pending: JSON = None


class JournalFile:
    """Appends sealed lines; every line is on the disk before the call returns.

    The file is locked until `close`, the end of the process, or until the journal is forgotten. One that was
    written under an earlier schema is carried over to this one, with a line that says so; a state that does
    not fit is refused, and the file stays as it is. Raises ConfigError, StorageError.
    """

    def __init__(self, path: Path, schema: StateSchema) -> None:
        self._path = path
        self._unsaved: list[str] = []
        _check_file(path)
        self._lock = _lock(path)
        try:
            # Read before the log is opened, which drops a torn last line: of a journal, of nothing else.
            found = _read(path)
            changed = None if found is None else _carry_over(path, found, schema)
            self._log = AppendLog(path)
            declared: JSON = json.loads(schema.digest_text)
            if found is None:
                self._write("schema", v=_VERSION, schema=declared, initial=schema.initial)
            elif changed is not None or found.schema != declared:
                entry = None if changed is None else changed.encode()
                self._write("new_schema", step=found.step, schema=declared, entry=entry)
        except BaseException:
            self._lock.release()
            raise
        self.restored = found or Restored(PatchJournal(schema.initial), declared)

    def run(self, goal: str, step: int, observation: str) -> None:
        """A run begins after `step` steps."""
        self._write("run", goal=goal, step=step, observation=observation)

    def call(self, step: int, action: JSON) -> None:
        """An action is about to be carried out. When this raises, it must not be."""
        try:
            self._write("call", step=step, action=action)
        except BaseException:
            del self._unsaved[-1:]  # this line; what waits before it stays
            raise

    def outcome(
        self,
        step: int,
        outcome: Outcome,
        entry: JournalEntry | None,
        failures: Sequence[FailedReply],
        *,
        observation: str | None,
        finished: bool,
    ) -> None:
        """A step is over; `observation` is the next one, where it is known already.

        When this raises StorageError, the line is written before the next one.
        """
        self._write(
            "outcome",
            step=step,
            outcome=outcome,
            entry=None if entry is None else entry.encode(),
            failures=[failed.encode() for failed in failures],
            observation=observation,
            finished=finished,
        )

    def check(self) -> None:
        """Raise StorageError when no line can be added any more: closed, or the file is another one."""
        if not self._lock.is_held:
            raise StorageError(
                f"journal = {str(self._path)!r} is not held any more: the agent was closed, its process was "
                "forked, or the file was removed or replaced; build the agent again"
            )

    def close(self) -> None:
        """Write what could not be written before, and let others have the file. Idempotent."""
        try:
            if self._unsaved and self._lock.is_held:
                self._save()
        finally:
            self._log.close()
            self._lock.release()

    def _write(self, kind: str, **fields: JSON) -> None:
        self._unsaved.append(seal({"kind": kind, **fields}))
        self._save()

    def _save(self) -> None:
        self.check()
        while self._unsaved:
            self._log.append(self._unsaved[0], sync=True)
            self._unsaved.pop(0)


def _check_file(path: Path) -> None:
    """A device or a folder is no journal; the former may have no end."""
    try:
        if path.exists() and not path.is_file():
            raise _refused(path, "it is not a file")
        if "\0" in str(path):
            raise _refused(path, "no file can have this name")
    except OSError as error:
        raise ConfigError(f"journal = {str(path)!r:.80}: {error.strerror}") from error


def _lock(path: Path) -> FileLock:
    try:
        return FileLock(path)
    except (BlockingIOError, PermissionError):
        reason = "another open agent holds it; close() that one first, or take another file"
        raise _refused(path, reason) from None
    except OSError as error:
        raise _refused(path, f"it cannot be locked: {error.strerror}") from error


def _read(path: Path) -> Restored | None:
    """What a file says; None for an empty one, or one whose first line was never completed."""
    try:
        *lines, torn = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    start = (lines[0] if lines else torn)[: len(_BEGINNING)]
    if not _BEGINNING.startswith(start) or (lines and len(start) < len(_BEGINNING)):
        raise _refused(path, "it is not the journal of an agent, or of another version of perdure")
    if not lines:
        return None
    restored: Restored | None = None
    for number, line in enumerate(lines, 1):
        if number > 1 and line == lines[number - 2]:
            continue  # an interruption between writing it and knowing so
        try:
            if not is_sealed(line):
                raise ValueError("it is damaged")
            fields = parse_object(line)
            restored = _first(fields) if restored is None else _next(restored, fields)
        except (KeyError, TypeError, ValueError) as error:
            raise _refused(path, f"line {number} cannot be read: {error}") from error
    return restored


def _first(line: Mapping[str, JSON]) -> Restored:
    if line["v"] != _VERSION:
        raise ValueError(f"it is of version {line['v']}, not {_VERSION}")
    return Restored(PatchJournal(line["initial"]), line["schema"])


def _next(restored: Restored, line: Mapping[str, JSON]) -> Restored:
    kind = line["kind"]
    if kind == "run":
        restored.goal, restored.started_at, restored.running = line["goal"], line["step"], True
        restored.observation = line["observation"]
    elif kind == "call":
        restored.pending = line["action"]
    elif kind == "new_schema":
        restored.schema = line["schema"]
        if line["entry"] is not None:
            _take_over(restored, JournalEntry.decode(line["entry"]))
    elif kind == "outcome":
        restored.pending = None
        restored.observation = line["observation"]
        if line["entry"] is not None:
            restored.journal.append(JournalEntry.decode(line["entry"]))
        restored.failures += map(_failed, line["failures"])
        restored.running = restored.running and not line["finished"]
    else:
        raise ValueError(f"unknown kind of line {kind!r}")
    restored.step = line["step"]
    return restored


def _carry_over(path: Path, restored: Restored, schema: StateSchema) -> JournalEntry | None:
    """Brings the last state under the schema; an entry of its own where that changes something."""
    saved = restored.journal.last_state()
    fitted = schema.fit_saved(saved)
    if isinstance(fitted, Misfit):
        shown = readable(_value_at(saved, fitted.path))
        raise _refused(
            path,
            f"the saved state does not fit the state schema at {pointer(fitted.path) or 'its root'}: "
            f"{fitted.problem}; there is {shown:.80}. {_ADVICE}",
        )
    if same(fitted, saved):
        return None
    changes = tuple(diff(saved, fitted))
    entry = JournalEntry(
        restored.step + 1, {}, None, True, True, changes, state_hash(fitted), observation=_NEW_SCHEMA
    )
    _take_over(restored, entry)
    return entry


_ADVICE = (
    "New fields need defaults, and a renamed field reads its old name with "
    "Field(validation_alias=AliasChoices('new', 'old')). Or take another file"
)
_NEW_SCHEMA = "The declared state changed: new fields got their defaults."


def _take_over(restored: Restored, entry: JournalEntry) -> None:
    """A change of schema counts as a step of the agent's life, not of the run under way."""
    restored.journal.append(entry)
    restored.step = entry.step
    restored.started_at += 1


def _value_at(state: JSON, path: FieldPath) -> JSON:
    """The value at a place, or that of the innermost container that is there."""
    for key in path:
        if isinstance(state, dict) and key in state:
            state = state[key]
        elif isinstance(state, list) and key.isdecimal() and int(key) < len(state):
            state = state[int(key)]
    return state


def _failed(data: Mapping[str, JSON]) -> FailedReply:
    return FailedReply(data["step"], Failure(FailureClass(data["class"]), data["code"], data["message"]))


def _refused(path: Path, reason: str) -> ConfigError:
    return ConfigError(f"journal = {str(path)!r}: {' '.join(reason.split())}")
