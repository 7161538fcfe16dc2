"""The journal file of a `StateAgent`: a line before and a line after every action."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.journal import JournalEntry, PatchJournal
from perdure.state.runtime import FailedReply
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure, FailureClass
from perdure.storage.files import AppendLog, line_offsets

_VERSION = 1


@dataclass
class Restored:
    """What a journal file says. `pending` is an action whose outcome was never written."""

    journal: PatchJournal
    failures: list[FailedReply] = field(default_factory=list)
    step: int = 0
    goal: str = ""
    started_at: int = 0
    running: bool = False
    observation: str | None = None
    pending: JSON = None


class AgentJournal:
    """Appends lines; every line is on the disk before the call returns. Raises ConfigError, StorageError.

    A file that was written with another schema is refused: its states would not be valid.
    """

    def __init__(self, path: Path, schema: StateSchema) -> None:
        self._path = path
        _check_file(path)
        self.restored = self._read(schema)
        self._log = AppendLog(path)
        if self._log.end == 0:
            self._write("schema", schema=json.loads(schema.digest_text), initial=schema.initial, v=_VERSION)

    def start(self, goal: str, step: int, observation: str) -> None:
        """A run begins after `step` steps."""
        self._write("start", goal=goal, step=step, observation=observation)

    def intend(self, step: int, action: JSON) -> None:
        """An action is about to be carried out."""
        self._write("intend", step=step, action=action)

    def settle(
        self,
        step: int,
        entry: JournalEntry | None,
        failures: Sequence[FailedReply],
        *,
        observation: str | None,
        finished: bool,
    ) -> None:
        """A step is over; `observation` is the next one, where it is known already."""
        self._write(
            "settle",
            step=step,
            entry=None if entry is None else entry.encode(),
            failures=[failed.encode() for failed in failures],
            observation=observation,
            finished=finished,
        )

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._log.close()

    def _write(self, kind: str, **fields: JSON) -> None:
        self._log.append(json.dumps({"kind": kind, **fields}, separators=(",", ":")), sync=True)

    def _read(self, schema: StateSchema) -> Restored:
        offsets = list(line_offsets(self._path))
        if not offsets:
            return Restored(PatchJournal(schema.initial))
        # A torn last line is not among the offsets' complete lines: it is dropped when the log is opened.
        lines = self._path.read_bytes().split(b"\n")[: len(offsets)]
        try:
            head, *rest = [json.loads(line) for line in lines]
            if head["kind"] != "schema" or head["v"] != _VERSION:
                raise ValueError("the first line is not that of a journal")
            if head["schema"] != json.loads(schema.digest_text):
                raise ConfigError(f"journal = {str(self._path)!r}: it was written with another state schema")
            restored = Restored(PatchJournal(head["initial"]))
            for line in rest:
                _replay(restored, line)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"journal = {str(self._path)!r} cannot be read: {error}") from error
        return restored


def _check_file(path: Path) -> None:
    """A device or a folder is no journal; the former may have no end."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"journal = {str(path)!r}: it is not a file")
        if "\0" in str(path):
            raise ConfigError(f"journal = {str(path)!r}: no file can have this name")
    except OSError as error:
        raise ConfigError(f"journal = {str(path)!r:.80}: {error.strerror}") from error


def _replay(restored: Restored, line: Mapping[str, JSON]) -> None:
    kind = line["kind"]
    restored.step = line["step"]
    if kind == "start":
        restored.goal, restored.started_at, restored.running = line["goal"], line["step"], True
        restored.observation = line["observation"]
    elif kind == "intend":
        restored.pending = line["action"]
    elif kind == "settle":
        restored.pending = None
        restored.observation = line["observation"]
        if line["entry"] is not None:
            restored.journal.append(JournalEntry.decode(line["entry"]))
        restored.failures += map(_failed, line["failures"])
        restored.running = restored.running and not line["finished"]
    else:
        raise ValueError(f"unknown kind of line {kind!r}")


def _failed(data: Mapping[str, JSON]) -> FailedReply:
    return FailedReply(data["step"], Failure(FailureClass(data["class"]), data["code"], data["message"]))
