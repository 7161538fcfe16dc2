"""The difference of two states, field by field: what guards count, what provenance points at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.core.types import JSON
from perdure.state.paths import Path, item_ids

ChangeKind: TypeAlias = Literal["set", "append", "delete"]


@dataclass(frozen=True)
class Change:
    """One field that is another. `value` is the new value, the appended items, or None for a deletion."""

    kind: ChangeKind
    path: Path
    value: JSON = None
    before: JSON = None
    """The old value, for guards; not recorded."""

    def encode(self) -> JSON:
        """As JSON: `[kind, [key, …], value]`."""
        return [self.kind, list(self.path), self.value]

    @classmethod
    def decode(cls, data: JSON) -> Change:
        """The inverse of `encode`."""
        kind, path, value = data
        return cls(kind, tuple(path), value)


def diff(old: JSON, new: JSON) -> list[Change]:
    """What turns `old` into `new`. Lists of objects with ids are compared by id, other lists as wholes."""
    return list(_diff(old, new, ()))


def _diff(old: JSON, new: JSON, path: Path) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _diff_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _diff_lists(old, new, path)
    elif not same(old, new):
        yield Change("set", path, new, old)


def _diff_objects(old: Mapping[str, JSON], new: Mapping[str, JSON], path: Path) -> Iterator[Change]:
    for key, value in old.items():
        if key not in new:
            yield Change("delete", (*path, key), before=value)
    for key, value in new.items():
        if key not in old:
            yield Change("set", (*path, key), value)
        else:
            yield from _diff(old[key], value, (*path, key))


def _diff_lists(old: list[JSON], new: list[JSON], path: Path) -> Iterator[Change]:
    if same(old, new):
        return
    old_ids, new_ids = item_ids(old), item_ids(new)
    if old_ids is not None and new_ids is not None and _order_is_kept(old_ids, new_ids):
        for id_, position in old_ids.items():
            if id_ not in new_ids:
                yield Change("delete", (*path, id_), before=old[position])
            else:
                yield from _diff(old[position], new[new_ids[id_]], (*path, id_))
        added = [new[position] for id_, position in new_ids.items() if id_ not in old_ids]
        if added:
            yield Change("append", path, added)
    elif len(new) > len(old) and same(new[: len(old)], old):
        yield Change("append", path, new[len(old) :], old)
    else:
        yield Change("set", path, new, old)


def _order_is_kept(old_ids: Mapping[str, int], new_ids: Mapping[str, int]) -> bool:
    """Whether the new list is the old one, less some items, plus some at its end."""
    kept = [id_ for id_ in old_ids if id_ in new_ids]
    return bool(kept) and list(new_ids)[: len(kept)] == kept


def dropped_keys(old: JSON, new: JSON, path: Path = ()) -> Iterator[Path]:
    """Places of keys that an object in `old` has and its counterpart in `new` has not; lists by position."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield (*path, key)
            else:
                yield from dropped_keys(value, new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for position, (before, after) in enumerate(zip(old, new, strict=False)):
            yield from dropped_keys(before, after, (*path, str(position)))


def same(one: JSON, other: JSON) -> bool:
    """Equal as JSON: unlike Python, `1`, `1.0` and `true` differ. Equal containers are compared once."""
    if one != other:
        return False
    if isinstance(one, dict):
        return all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(same, one, other))
    return type(one) is type(other)


def apply_changes(state: JSON, changes: Iterable[Change]) -> JSON:
    """The state after recorded changes, on a copy. Raises KeyError when they do not belong to this state."""
    copied = json.loads(json.dumps(state))
    for change in changes:
        copied = _apply(copied, change)
    return copied


def _apply(state: JSON, change: Change) -> JSON:
    value = json.loads(json.dumps(change.value))
    if not change.path:
        return value
    *parents, key = change.path
    container = state
    for parent in parents:
        container = container[_position(container, parent)]
    if change.kind == "append":
        container[_position(container, key)].extend(value)
    elif change.kind == "delete":
        del container[_position(container, key)]
    elif isinstance(container, dict):
        container[key] = value
    else:
        container[_position(container, key)] = value
    return state


def _position(container: JSON, key: str) -> str | int:
    if isinstance(container, dict):
        return key
    positions = item_ids(container)
    if positions is None:
        raise KeyError(key)
    return positions[key]
