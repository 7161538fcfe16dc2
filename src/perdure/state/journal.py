"""The patch journal: every field knows the step, observation and patch that set it. Never prompted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from perdure.core.types import JSON
from perdure.state.changes import Change, apply_changes
from perdure.state.paths import Path, item_ids, overlap, parse_pointer, pointer


def state_hash(state: JSON) -> str:
    """Digest of a state, 16 hex digits; the order of keys does not matter."""
    text = json.dumps(state, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class JournalEntry:
    """One patch that was validated. It changed the state only if it was `committed`."""

    step: int
    """Actions counted from 1; the patch came with the action of this step."""
    patch: JSON
    action: JSON
    accepted: bool
    committed: bool
    changes: tuple[Change, ...]
    hash: str
    """Of the state after this step."""
    coercions: tuple[str, ...] = ()
    tolerances: tuple[str, ...] = ()
    observation: str | None = None
    """What the model had seen when it wrote the patch, where the journal's owner keeps it here."""

    def encode(self) -> dict[str, JSON]:
        """As JSON, without what is empty."""
        optional = {
            "coercions": list(self.coercions),
            "tolerances": list(self.tolerances),
            "observation": self.observation,
        }
        return {
            "step": self.step,
            "patch": self.patch,
            "action": self.action,
            "accepted": self.accepted,
            "committed": self.committed,
            "changes": [change.encode() for change in self.changes],
            "hash": self.hash,
            **{key: value for key, value in optional.items() if value},
        }

    @classmethod
    def decode(cls, data: Mapping[str, JSON]) -> JournalEntry:
        """The inverse of `encode`."""
        return cls(
            data["step"],
            data["patch"],
            data["action"],
            data["accepted"],
            data["committed"],
            tuple(Change.decode(change) for change in data["changes"]),
            data["hash"],
            tuple(data.get("coercions", ())),
            tuple(data.get("tolerances", ())),
            data.get("observation"),
        )


class PatchJournal:
    """The first state and every entry after it; enough to rebuild any state without a model or a schema."""

    def __init__(self, initial: Mapping[str, JSON], entries: Iterable[JournalEntry] = ()) -> None:
        self.initial: dict[str, JSON] = json.loads(json.dumps(initial))
        self._entries = list(entries)

    @classmethod
    def from_trace(cls, trace: Mapping[str, JSON]) -> PatchJournal:
        """The journal that a strategy recorded with a session."""
        return cls(trace["initial"], map(JournalEntry.decode, trace["patches"]))

    @property
    def entries(self) -> Sequence[JournalEntry]:
        """Validated patches, oldest first."""
        return tuple(self._entries)

    def append(self, entry: JournalEntry) -> None:
        """One more step. Raises ValueError when steps do not grow."""
        if self._entries and entry.step <= self._entries[-1].step:
            raise ValueError(f"step {entry.step} comes after step {self._entries[-1].step}")
        self._entries.append(entry)

    def state_at(self, step: int) -> JSON:
        """The state after a step; 0 is the initial one."""
        entries = (entry for entry in self._committed() if entry.step <= step)
        return apply_changes(self.initial, (change for entry in entries for change in entry.changes))

    def last_state(self) -> JSON:
        """The state after the last step."""
        return self.state_at(self._entries[-1].step) if self._entries else self.state_at(0)

    def history(self, path: Path) -> list[JournalEntry]:
        """Committed entries that touched a field, something in it or around it; newest first."""
        return [
            entry
            for entry in reversed(list(self._committed()))
            if any(overlap(written, path) for change in entry.changes for written in _changed_paths(change))
        ]

    def provenance(self) -> dict[Path, int]:
        """Leaf fields of the last state and the step that set each; 0 for those of the initial state."""
        state: JSON = self.initial
        origin = dict.fromkeys(_leaves(state, ()), 0)
        for entry in self._committed():
            state = apply_changes(state, entry.changes)
            changed = [path for change in entry.changes for path in _changed_paths(change)]
            origin = {
                leaf: entry.step if any(overlap(path, leaf) for path in changed) else origin[leaf]
                for leaf in _leaves(state, ())
            }
        return origin

    def find(self, text: str) -> Path:
        """A field as a person names it: a JSON Pointer, or keys joined by dots where only one field fits.

        Raises ValueError with the choices.
        """
        known = self._known_paths()
        if text.startswith("/") or not text:
            path = parse_pointer(text)
            fitting = [path] if path in known else []
        else:
            fitting = sorted(path for path in known if ".".join(path) == text)
        if len(fitting) == 1:
            return fitting[0]
        choices = fitting or sorted(path for path in known if path)
        shown = ", ".join(map(pointer, choices[:12])) + (", …" if len(choices) > 12 else "")
        problem = "is ambiguous" if fitting else "was never set"
        raise ValueError(f"{text!r} {problem}; choose one of: {shown}")

    def _known_paths(self) -> set[Path]:
        leaves = set(_leaves(self.initial, ()))
        for entry in self._committed():
            for change in entry.changes:
                leaves |= {change.path, *_leaves(change.value, change.path)}
        return {leaf[:depth] for leaf in leaves for depth in range(len(leaf) + 1)}

    def _committed(self) -> Iterator[JournalEntry]:
        return (entry for entry in self._entries if entry.committed)


def _leaves(value: JSON, path: Path) -> Iterator[Path]:
    """Paths of texts, numbers, empty containers and lists that are not keyed by id."""
    ids = item_ids(value)
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif ids is not None:
        for key, position in ids.items():
            yield from _leaves(value[position], (*path, key))
    else:
        yield path


def _changed_paths(change: Change) -> list[Path]:
    """Where a change wrote: of items with ids that were appended, only those."""
    ids = item_ids(change.value) if change.kind == "append" else None
    return [change.path] if ids is None else [(*change.path, id_) for id_ in ids]
