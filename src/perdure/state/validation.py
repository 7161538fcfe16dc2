"""Checks a value against a JSON Schema given as a mapping: the keywords that states need, no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perdure.core.types import JSON
from perdure.state.changes import same
from perdure.state.nodes import Node, Nodes, json_type, type_of
from perdure.state.paths import Path, pointer
from perdure.state.patterns import matches

ANNOTATIONS = {
    "$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples", "merge",
    "format", "deprecated", "readOnly", "$comment",
}  # fmt: skip
"""Keywords that say nothing about what is valid."""

APPLIED = {"$ref", "anyOf", "oneOf", "allOf", "type", "enum", "const", "properties", "required"}
APPLIED |= {"additionalProperties", "items"}


@dataclass(frozen=True)
class Misfit:
    """What is wrong with a value, and where in the state."""

    path: Path
    problem: str

    def __str__(self) -> str:
        return f"{pointer(self.path) or 'the state'}: {self.problem}"


def first_error(value: JSON, node: Node, nodes: Nodes, path: Path = ()) -> Misfit | None:
    """The first thing that is wrong with a value; None when it is valid."""
    errors = []
    for option in nodes.alternatives(node):
        error = _option_error(value, option, nodes, path)
        if error is None:
            return None
        errors.append((option, error))
    # Of a union, the complaint of the member that at least has the right type says most.
    fitting = [error for option, error in errors if nodes.accepts(option, value)]
    return (fitting or [error for _, error in errors])[0]


def _option_error(value: JSON, node: Node, nodes: Nodes, path: Path) -> Misfit | None:
    if not nodes.accepts(node, value):
        return Misfit(path, f"must be of type {type_of(node)}, not {json_type(value)}")
    if "const" in node and not same(value, node["const"]):
        return Misfit(path, f"must be {node['const']!r}")
    if "enum" in node and not any(same(value, choice) for choice in node["enum"]):
        return Misfit(path, f"must be one of {node['enum']!r}")
    for keyword, limit in LIMITS.items():
        if keyword in node and not limit(value, node[keyword]):
            return Misfit(path, f"breaks {keyword} = {node[keyword]!r}")
    if isinstance(value, dict):
        return _object_error(value, node, nodes, path)
    if isinstance(value, list) and "items" in node:
        plain = nodes.plain_types(node["items"])
        for position, item in enumerate(value):
            if type(item) in plain:
                continue
            error = first_error(item, node["items"], nodes, (*path, str(position)))
            if error is not None:
                return error
    return None


def _object_error(value: Mapping[str, JSON], node: Node, nodes: Nodes, path: Path) -> Misfit | None:
    for key in node.get("required", ()):
        if key not in value:
            return Misfit((*path, key), "is missing")
    properties = node.get("properties", {})
    extra = node.get("additionalProperties", True)
    plain = nodes.plain_types(extra) if isinstance(extra, Mapping) else frozenset()
    for key, item in value.items():
        if type(item) in plain and key not in properties:
            continue
        place = (*path, key)
        if key in properties:
            error = first_error(item, properties[key], nodes, place)
        elif extra is False:
            return Misfit(place, "is not a field of the state")
        else:
            error = first_error(item, extra, nodes, place) if isinstance(extra, Mapping) else None
        if error is not None:
            return error
    return None


def is_number(value: JSON) -> bool:
    """A JSON number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


LIMITS: Mapping[str, Callable[[JSON, JSON], bool]] = {
    "minimum": lambda value, limit: not is_number(value) or value >= limit,
    "maximum": lambda value, limit: not is_number(value) or value <= limit,
    "exclusiveMinimum": lambda value, limit: not is_number(value) or value > limit,
    "exclusiveMaximum": lambda value, limit: not is_number(value) or value < limit,
    "minLength": lambda value, limit: not isinstance(value, str) or len(value) >= limit,
    "maxLength": lambda value, limit: not isinstance(value, str) or len(value) <= limit,
    "pattern": lambda value, limit: not isinstance(value, str) or matches(limit, value),
    "minItems": lambda value, limit: not isinstance(value, list) or len(value) >= limit,
    "maxItems": lambda value, limit: not isinstance(value, list) or len(value) <= limit,
    "minProperties": lambda value, limit: not isinstance(value, dict) or len(value) >= limit,
    "maxProperties": lambda value, limit: not isinstance(value, dict) or len(value) <= limit,
}
"""Keyword → whether a value keeps to it; a value of another type does."""
