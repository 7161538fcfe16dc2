"""Full states of a run, one file each, so that a restore reads one of them and few sessions after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perdure.core.types import JSON, Message
from perdure.storage.call_lines import decode_messages, encode_messages
from perdure.storage.files import is_sealed, parse_object, remove, replace_atomically, seal
from perdure.storage.records import SCHEMA_VERSION


@dataclass(frozen=True)
class Snapshot:
    """What stood after `tasks` committed sessions."""

    tasks: int = 0
    callbacks: Mapping[str, JSON] = field(default_factory=dict)
    history_items: tuple[Message, ...] | None = None
    """What the history factory held; None where no callback had edited it."""


class Snapshots:
    """The newest two are kept, each replaced atomically."""

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self._folder = folder
        self._sync = sync
        for torn in folder.glob(".*.tmp"):
            remove(torn)

    def write(self, snapshot: Snapshot) -> None:
        """Keep a state. Raises StorageError."""
        items = snapshot.history_items
        body = {
            "v": SCHEMA_VERSION,
            "tasks": snapshot.tasks,
            "callbacks": snapshot.callbacks,
            "history_items": None if items is None else encode_messages(items),
        }
        replace_atomically(self._folder / f"{snapshot.tasks:08d}.json", seal(body), sync=self._sync)
        for old in sorted(self._folder.glob("*.json"))[:-2]:
            remove(old)

    def newest(self, tasks: int) -> Snapshot:
        """The last readable state that is not ahead of `tasks` sessions; an empty one where there is none."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            try:
                text = path.read_bytes()
                body = parse_object(text) if is_sealed(text) else {}
                found = _decode(body)
            except (OSError, ValueError, KeyError, TypeError):
                continue
            # A damaged one is passed over: an older one and the sessions after it say the same.
            if found is not None and 0 < found.tasks <= tasks:
                return found
        return Snapshot()


def _decode(body: Mapping[str, JSON]) -> Snapshot | None:
    match body:
        case {"v": version, "tasks": int(done), "callbacks": dict(states), "history_items": items}:
            if version != SCHEMA_VERSION:
                return None
            edited: Sequence[Sequence[str]] | None = items
            return Snapshot(done, states, None if edited is None else decode_messages(edited))
    return None
