"""Lossless conversions of a patch's values to the declared types, each of them logged."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from perdure.core.types import JSON
from perdure.state.extract import read_json
from perdure.state.keys import check_key, check_keys
from perdure.state.merge import REPLACE
from perdure.state.nodes import Node, json_type
from perdure.state.paths import Path, pointer
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import FailureClass, PatchRejected


@dataclass
class Coercer:
    """Rewrites values of one patch. `log` holds `"/path: '3' -> 3"` for each conversion, in order.

    The table: `"3"` → 3 and `"3.5"` → 3.5 where a number is declared and the text is its only spelling, 3.0
    → 3 for an integer, 3 → `"3"` for a text, `"true"` and `"false"` for a boolean, the JSON text of a list or
    an object → what it says where one is declared, any other value → a list of it. A list never becomes an
    object or the reverse. Raises PatchRejected for unknown keys, and for a text that stands for a container
    and cannot be read as the one that is declared: it is never stored as an item.
    """

    schema: StateSchema
    max_depth: int = 32
    """Levels of a container that arrives as a text, those above it included."""
    log: list[str] = field(default_factory=list)

    def patch(self, value: JSON, path: Path = ()) -> JSON:
        """A merge patch, whose shape is that of the state; null and `$replace` keep their meaning."""
        return self._convert(value, self._node(path), path, patching=True)

    def value(self, value: JSON, path: Path) -> JSON:
        """A value that will stand at a path as it is."""
        return self._convert(value, self._node(path), path, patching=False)

    def item(self, value: JSON, path: Path) -> JSON:
        """An item for the list at a path."""
        return self._convert(value, self.schema.nodes.items(self._node(path)), path, patching=False)

    def added(self, value: JSON, path: Path) -> JSON:
        """One item that is added to the list at a path; a text that holds a whole list is refused."""
        item = self.item(value, path)
        if isinstance(item, str) and (_LIST_START.match(item) or isinstance(self._read(item, path), list)):
            raise PatchRejected(
                FailureClass.SCHEMA,
                "json_text",
                f"{pointer(path)}: one item is added at a time, and {item!r:.80} is the text of a list; "
                "add its items one by one, or merge a real list.",
            )
        return item

    def _node(self, path: Path) -> Node:
        node = self.schema.nodes.at(path)
        if node is None:
            raise _unknown(path)
        return node

    def _convert(self, value: JSON, node: Node, path: Path, *, patching: bool) -> JSON:
        if value is None and patching:
            return None
        if isinstance(value, dict):
            return self._object(value, node, path, patching=patching)
        nodes = self.schema.nodes
        if isinstance(value, list):
            items = nodes.items(node)
            return [
                self._convert(item, items, (*path, str(position)), patching=False)
                for position, item in enumerate(value)
            ]
        if nodes.accepts(node, value):
            return value
        wanted = nodes.wanted_types(node)
        if isinstance(value, str) and wanted & _KINDS:
            return self._container(value, wanted, node, path, patching=patching)
        if len(wanted) != 1:
            return value
        return self._scalar(value, wanted.pop(), node, path)

    def _object(self, value: dict[str, JSON], node: Node, path: Path, *, patching: bool) -> JSON:
        if patching and REPLACE in value:
            if value[REPLACE] is not True or set(value) != {REPLACE, "value"}:
                raise PatchRejected(
                    FailureClass.SCHEMA,
                    "replace_form",
                    f'{pointer(path)}: to replace a whole container write {{"{REPLACE}": true, "value": …}}.',
                )
            return {REPLACE: True, "value": self._convert(value["value"], node, path, patching=False)}
        if REPLACE in value:
            check_key(REPLACE)
        if not self.schema.nodes.accepts(node, value):
            return value
        converted = {}
        for key, item in value.items():
            child = self.schema.nodes.child(node, key)
            if child is None:
                raise _unknown((*path, key))
            converted[key] = self._convert(item, child, (*path, key), patching=patching)
        return converted

    def _container(self, text: str, wanted: set[str], node: Node, path: Path, *, patching: bool) -> JSON:
        """A text where a list or an object is declared: what it says, or one item of a list."""
        found = self._read(text, path)
        if isinstance(found, list | dict) and json_type(found) in wanted:
            check_keys(found)
            return self._convert(self._logged(text, found, path), node, path, patching=patching)
        if found is not _UNREADABLE and not isinstance(found, int | float):
            raise _no_container(text, wanted, path)
        if not text.strip() or text.strip().startswith(_CONTAINER_STARTS):
            raise _no_container(text, wanted, path)
        return self._scalar(text, "array", node, path) if wanted == {"array"} else text

    def _read(self, text: str, path: Path) -> JSON:
        try:
            return read_json(text.strip().removeprefix("\ufeff"), max_depth=self.max_depth - len(path))
        except PatchRejected:
            return _UNREADABLE

    def _scalar(self, value: JSON, wanted: str, node: Node, path: Path) -> JSON:
        if wanted == "array":
            item = self._convert(value, self.schema.nodes.items(node), path, patching=False)
            if self.schema.nodes.accepts(self.schema.nodes.items(node), item):
                return self._logged(value, [item], path)
            return value
        changed = _lossless(value, wanted)
        return value if changed is None else self._logged(value, changed, path)

    def _logged(self, value: JSON, changed: JSON, path: Path) -> JSON:
        self.log.append(f"{pointer(path)}: {json.dumps(value)} -> {json.dumps(changed)}")
        return changed


_UNREADABLE = object()
_CONTAINER_STARTS = ("[", "{", "```", "\ufeff")
_LIST_START = re.compile(r"\s*+\[\s*+['\"\[{]")
"""Also of a list in another notation, or one that was cut short."""


def _lossless(value: JSON, wanted: str) -> JSON:
    """The same value as another type, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if wanted == "boolean":
            return {"true": True, "false": False}.get(value)
        if wanted in ("integer", "number"):
            return _number_of(value, whole=wanted == "integer")
    if wanted == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if wanted == "string" and isinstance(value, int):
        return str(value)
    return None


def _number_of(text: str, *, whole: bool) -> int | float | None:
    """A number that is written exactly so: `"3"`, `"3.5"`, but not `" 3"`, `"03"`, `"1e3"` or `"three"`."""
    if len(text) > 20 or not text.lstrip("-").replace(".", "", 1).isascii():
        return None
    try:
        number = float(text) if "." in text else int(text)
    except ValueError:
        return None
    if str(number) != text or (whole and not isinstance(number, int)):
        return None
    return number


def _no_container(text: str, wanted: set[str], path: Path) -> PatchRejected:
    kind = " or ".join(sorted({"array": "a list", "object": "an object"}[name] for name in wanted & _KINDS))
    return PatchRejected(
        FailureClass.SCHEMA,
        "json_text",
        f"{pointer(path)} is {kind}, and the text {text!r:.80} cannot be read as one; "
        f"write {kind} itself, without quotes around it.",
    )


_KINDS = {"array", "object"}


def _unknown(path: Path) -> PatchRejected:
    return PatchRejected(
        FailureClass.SCHEMA, "unknown_key", f"{pointer(path)} is not a field of the state's schema."
    )
