"""Walks a JSON Schema: which schema holds at a place of the state, and what it accepts there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perdure.core.errors import ConfigError
from perdure.core.types import JSON

Node: TypeAlias = Mapping[str, JSON]
"""One schema; the empty one accepts anything."""

ANYTHING: Node = {}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}

TYPE_NAMES = tuple(_TYPES)
"""The types of JSON Schema."""

_UNCHECKED = {"type", "title", "description", "default", "examples"}
"""Keywords that say nothing about a scalar beyond its type."""


class Nodes:
    """The schemas of one document, with `$ref` and unions resolved. Memory grows with the schema only."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._memo: dict[int, tuple[Node, ...]] = {}
        self._plain: dict[int, frozenset[type]] = {}

    def alternatives(self, node: Node) -> tuple[Node, ...]:
        """The concrete schemas that a node stands for; one, unless it is a union. Raises ConfigError."""
        known = self._memo.get(id(node))
        if known is None:
            known = self._memo[id(node)] = tuple(self._expand(node, 0))
        return known

    def child(self, node: Node, key: str) -> Node | None:
        """The schema of a key of an object, or of an item of a list; None where there is no such key."""
        closed = False
        for option in self.alternatives(node):
            if "properties" in option or "additionalProperties" in option or type_of(option) == "object":
                properties = option.get("properties", {})
                if key in properties:
                    found: Node = properties[key]
                    return found
                extra = option.get("additionalProperties", True)
                if extra is False:
                    closed = True
                elif isinstance(extra, Mapping):
                    return extra
                else:
                    return ANYTHING
            elif type_of(option) == "array":
                return self.items(option)
        return None if closed else ANYTHING

    def items(self, node: Node) -> Node:
        """The schema of a list's items."""
        for option in self.alternatives(node):
            items = option.get("items")
            if isinstance(items, Mapping):
                return items
        return ANYTHING

    def at(self, path: Sequence[str]) -> Node | None:
        """The schema at a path; None where the schema has no such place."""
        node: Node | None = self.root
        for key in path:
            if node is None:
                return None
            node = self.child(node, key)
        return node

    def accepts(self, node: Node, value: JSON) -> bool:
        """Whether a value has the right type here; contents are not looked at."""
        return any(_has_type(option, value) for option in self.alternatives(node))

    def plain_types(self, node: Node) -> frozenset[type]:
        """Python types of the scalars that are valid here whatever their value."""
        known = self._plain.get(id(node))
        if known is None:
            options = self.alternatives(node)
            plain = [type_of(option) for option in options if not set(option) - _UNCHECKED]
            types = {kind for name in plain for kind in _TYPES.get(name, ()) if kind not in (dict, list)}
            known = self._plain[id(node)] = frozenset(types)
        return known

    def wanted_types(self, node: Node) -> set[str]:
        """Types named here, null left out; empty where anything goes."""
        types = {type_of(option) for option in self.alternatives(node)}
        return set() if "" in types else types - {"null"}

    def _expand(self, node: Node, depth: int) -> list[Node]:
        if depth > 64:
            raise ConfigError("state_schema: a $ref leads back to itself")
        if "$ref" in node:
            return self._expand(self._referred(node["$ref"]), depth + 1)
        for union in ("anyOf", "oneOf"):
            if union in node:
                return [found for option in node[union] for found in self._expand(option, depth + 1)]
        if len(node.get("allOf", ())) == 1:
            return self._expand(node["allOf"][0], depth + 1)
        kind = node.get("type")
        if isinstance(kind, list):
            return [{**node, "type": one} for one in kind]
        return [node]

    def _referred(self, reference: str) -> Node:
        node: JSON = self.root
        if not reference.startswith("#/"):
            raise ConfigError(f"state_schema: only references into the schema itself work, not {reference!r}")
        for key in reference[2:].split("/"):
            try:
                node = node[key.replace("~1", "/").replace("~0", "~")]
            except (KeyError, TypeError):
                raise ConfigError(f"state_schema: {reference!r} leads nowhere") from None
        found: Node = node
        return found


def type_of(node: Node) -> str:
    """The type of a concrete schema: named, or that of its constants; empty where it names none."""
    if "type" in node:
        return str(node["type"])
    constants = [node["const"]] if "const" in node else node.get("enum", ())
    types = {json_type(value) for value in constants}
    if len(types) == 1:
        return types.pop()
    return "object" if "properties" in node else ""


def json_type(value: JSON) -> str:
    """The JSON Schema name of a value's type; a whole number is an integer only if it is written as one."""
    if isinstance(value, bool):
        return "boolean"
    return next(name for name, types in _TYPES.items() if isinstance(value, types))


def _has_type(node: Node, value: JSON) -> bool:
    kind = type_of(node)
    if not kind:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
