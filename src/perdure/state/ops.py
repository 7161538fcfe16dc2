"""Patches as a list of operations: set, merge, delete, append, remove, incr, move, each on a path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from perdure.core.types import JSON
from perdure.state.changes import same
from perdure.state.coerce import Coercer
from perdure.state.keys import check_key
from perdure.state.merge import merge, refuse_replacing
from perdure.state.paths import ID, Path, item_ids, parse_path, pointer
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import FailureClass, PatchRejected

_FIELDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "set": (frozenset({"path", "value"}), frozenset({"replace"})),
    "merge": (frozenset({"path", "value"}), frozenset()),
    "delete": (frozenset({"path"}), frozenset()),
    "append": (frozenset({"path", "value"}), frozenset()),
    "remove": (frozenset({"path", "value"}), frozenset()),
    "incr": (frozenset({"path"}), frozenset({"value"})),
    "move": (frozenset({"path", "to"}), frozenset()),
}
"""Operation → fields it needs, fields it may have."""

_LONGEST_PATH = 32


class Operations:
    """Applies operations to a copy of a state, in order. Raises PatchRejected at the first that cannot be.

    `replaced` holds the paths of containers that were replaced on request.
    """

    def __init__(self, state: Mapping[str, JSON], schema: StateSchema, coercer: Coercer) -> None:
        self.state: JSON = json.loads(json.dumps(state))
        self.replaced: set[Path] = set()
        self._schema = schema
        self._coercer = coercer

    def apply(self, operations: Sequence[JSON]) -> None:
        """Carry out every operation."""
        handlers: Mapping[str, Callable[[Path, Mapping[str, Any]], None]] = {
            "set": self._set,
            "merge": self._merge,
            "delete": self._delete,
            "append": self._append,
            "remove": self._remove,
            "incr": self._incr,
            "move": self._move,
        }
        for number, operation in enumerate(operations, 1):
            name, path = _checked(operation, number)
            handlers[name](path, operation)

    def _set(self, path: Path, operation: Mapping[str, JSON]) -> None:
        value = self._coercer.value(operation["value"], path)
        container, key = self._place(path, create=True)
        present = container.get(key) if isinstance(container, dict) else container[key]
        if operation.get("replace") is True:
            self.replaced.add(path)
        elif isinstance(present, dict | list) and present:
            refuse_replacing(present, value, path)
            raise PatchRejected(
                FailureClass.OVERWRITE,
                "replaced_container",
                f'{pointer(path)} holds a filled container; use merge or append, or add "replace": true.',
            )
        container[key] = value

    def _merge(self, path: Path, operation: Mapping[str, JSON]) -> None:
        patch = self._coercer.patch(operation["value"], path)
        if not path:
            self.state = merge(self.state, patch, self._schema, replaced=self.replaced)
            return
        container, key = self._place(path, create=True)
        present = container.get(key) if isinstance(container, dict) else container[key]
        container[key] = merge(present, patch, self._schema, replaced=self.replaced, path=path)

    def _delete(self, path: Path, operation: Mapping[str, JSON]) -> None:
        container, key = self._place(path)
        if isinstance(container, dict) and key not in container:
            return
        if self._schema.null_is_a_value(path):
            container[key] = None
            return
        self._refuse_undeletable(path)
        del container[key]

    def _append(self, path: Path, operation: Mapping[str, JSON]) -> None:
        items = self._list(path)
        item = self._coercer.added(operation["value"], path)
        if self._schema.list_policy(path) != "union" or not any(same(item, known) for known in items):
            items.append(item)

    def _remove(self, path: Path, operation: Mapping[str, JSON]) -> None:
        items = self._list(path)
        value = self._coercer.item(operation["value"], path)
        for position, item in enumerate(items):
            if same(item, value) or (isinstance(item, dict) and ID in item and str(item[ID]) == str(value)):
                del items[position]
                return
        raise _nothing_there(path, f"no item {json.dumps(value)[:80]}")

    def _incr(self, path: Path, operation: Mapping[str, JSON]) -> None:
        container, key = self._place(path)
        present = container.get(key) if isinstance(container, dict) else container[key]
        step = operation.get("value", 1)
        for number in (present, step):
            if not isinstance(number, int | float) or isinstance(number, bool):
                raise PatchRejected(
                    FailureClass.SCHEMA, "not_a_number", f"incr on {pointer(path)} needs two numbers."
                )
        total = present + step
        if not isfinite(total):
            raise PatchRejected(FailureClass.SCHEMA, "size", f"{pointer(path)} would be too large a number.")
        container[key] = total

    def _move(self, path: Path, operation: Mapping[str, JSON]) -> None:
        target = _path(operation["to"], "to")
        container, key = self._place(path)
        if isinstance(container, dict) and key not in container:
            raise _nothing_there(path, "nothing")
        self._refuse_undeletable(path)
        if target[: len(path)] == path:
            raise PatchRejected(FailureClass.SEMANTIC, "move", f"{pointer(path)} cannot move into itself.")
        value = container[key]
        destination, name = self._place(target, create=True)
        if not isinstance(destination, dict) or destination.get(name) is not None:
            raise PatchRejected(
                FailureClass.OVERWRITE, "move", f"{pointer(target)} is taken; delete what it holds first."
            )
        if self._schema.nodes.at(target) is None:
            self._coercer.value(value, target)
        destination[name] = value
        if isinstance(container, list):
            container.remove(value)
        else:
            del container[key]

    def _refuse_undeletable(self, path: Path) -> None:
        if self._schema.undeletable(path):
            raise PatchRejected(FailureClass.OVERWRITE, "undeletable", f"{pointer(path)} must stay.")

    def _list(self, path: Path) -> list[JSON]:
        container, key = self._place(path, create=True)
        present = container.setdefault(key, []) if isinstance(container, dict) else container[key]
        if present is None:
            present = container[key] = []
        if not isinstance(present, list):
            raise PatchRejected(FailureClass.SCHEMA, "not_a_list", f"{pointer(path)} is not a list.")
        return present

    def _place(self, path: Path, *, create: bool = False) -> tuple[Any, Any]:
        """The container of a path's last key, and that key as the container wants it."""
        if not path:
            raise PatchRejected(
                FailureClass.OVERWRITE, "whole_state", "The whole state has no such operation."
            )
        value = self.state
        for depth, key in enumerate(path[:-1], 1):
            place = _key(value, key, path[:depth])
            if isinstance(value, dict) and value.get(key) is None:
                if not create:
                    raise _nothing_there(path[:depth], "nothing")
                value[key] = {}
            value = value[place]
        return value, _key(value, path[-1], path)


def _key(container: JSON, key: str, path: Path) -> str | int:
    if isinstance(container, dict):
        return key
    if isinstance(container, list):
        positions = item_ids(container) or {}
        if key in positions:
            return positions[key]
        raise _nothing_there(
            path[:-1], f"no item with the id {key!r} (items are named by id, not by position)"
        )
    raise PatchRejected(FailureClass.SCHEMA, "not_a_container", f"{pointer(path[:-1])} holds no fields.")


def _checked(operation: JSON, number: int) -> tuple[str, Path]:
    name = operation.get("op") if isinstance(operation, dict) else None
    if not isinstance(name, str) or name not in _FIELDS:
        raise _malformed(number, f'needs "op", one of: {", ".join(_FIELDS)}')
    needed, allowed = _FIELDS[name]
    missing, extra = sorted(needed - set(operation)), sorted(set(operation) - needed - allowed - {"op"})
    if missing or extra:
        what = f"misses {missing[0]!r}" if missing else f"has an unknown field {extra[0]!r}"
        raise _malformed(number, f"({name}) {what}")
    return name, _path(operation["path"], "path")


def _path(value: JSON, name: str) -> Path:
    try:
        path = parse_path(value)
    except ValueError as error:
        raise PatchRejected(FailureClass.SCHEMA, "path", f"{name} = {value!r:.80}: {error}.") from error
    if len(path) > _LONGEST_PATH:
        raise PatchRejected(
            FailureClass.SCHEMA, "depth", f"{name} has {len(path)} keys; {_LONGEST_PATH} are allowed."
        )
    for key in path:
        check_key(key)
    return path


def _malformed(number: int, what: str) -> PatchRejected:
    return PatchRejected(FailureClass.SCHEMA, "operation", f"Operation {number} {what}.")


def _nothing_there(path: Path, what: str) -> PatchRejected:
    return PatchRejected(
        FailureClass.SEMANTIC, "nothing_there", f"{pointer(path) or 'the state'} has {what}."
    )
