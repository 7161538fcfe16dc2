"""Lossless conversions of a patch's values to the declared types, each of them logged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from perdure.core.types import JSON
from perdure.state.keys import check_key
from perdure.state.merge import REPLACE
from perdure.state.nodes import Node
from perdure.state.paths import Path, pointer
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import FailureClass, PatchRejected


@dataclass
class Coercer:
    """Rewrites values of one patch. `log` holds `"/path: '3' -> 3"` for each conversion, in order.

    The table: `"3"` → 3 and `"3.5"` → 3.5 where a number is declared and the text is its only spelling, 3.0
    → 3 for an integer, 3 → `"3"` for a text, `"true"` and `"false"` for a boolean, a value → a list of it.
    A list never becomes an object or the reverse. Unknown keys raise PatchRejected.
    """

    schema: StateSchema
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


def _unknown(path: Path) -> PatchRejected:
    return PatchRejected(
        FailureClass.SCHEMA, "unknown_key", f"{pointer(path)} is not a field of the state's schema."
    )
