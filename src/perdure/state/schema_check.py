"""Reads a JSON Schema given as a mapping: plain data, every keyword known and of the right form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.merge import LIST_POLICIES
from perdure.state.nodes import TYPE_NAMES, Node
from perdure.state.patterns import check_pattern
from perdure.state.validation import ANNOTATIONS, APPLIED, LIMITS, is_number

_DEEPEST = 64
"""Levels of sub-schemas."""


def read_json_schema(source: Mapping[str, JSON]) -> Node:
    """A copy of the schema in which `true` as a sub-schema is written `{}`. Raises ConfigError."""
    try:
        copied: JSON = json.loads(json.dumps(source, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"state_schema: it is no JSON: {error}") from error
    return _read(copied, "state_schema", 0)


def _read(node: JSON, place: str, depth: int) -> Node:
    if node is True:
        return {}
    if not isinstance(node, dict):
        raise ConfigError(f"{place}: expected a schema, got {node!r:.80}")
    if depth > _DEEPEST:
        raise ConfigError(f"{place:.60}…: at most {_DEEPEST} schemas may be nested")
    known = ANNOTATIONS | APPLIED | set(LIMITS)
    for key, value in node.items():
        if key not in known:
            choices = ", ".join(sorted(APPLIED | set(LIMITS)))
            raise ConfigError(f"{place}: keyword {key!r} is not supported; choose among: {choices}")
        fits, wanted = _FORMS.get(key, _ANYTHING)
        if not fits(value):
            raise ConfigError(f"{place}: {key}: expected {wanted}, got {value!r:.80}")
    if "pattern" in node:
        check_pattern(node["pattern"])
    if len(node.get("allOf", [0])) != 1:
        raise ConfigError(f"{place}: 'allOf' is supported with one member only")
    return {key: _inner(key, value, f"{place}.{key}", depth + 1) for key, value in node.items()}


def _inner(key: str, value: JSON, place: str, depth: int) -> JSON:
    """A keyword's value with the schemas in it read."""
    if key in ("properties", "$defs", "definitions"):
        return {name: _read(field, f"{place}.{name}", depth) for name, field in value.items()}
    if key in ("anyOf", "oneOf", "allOf"):
        return [_read(option, f"{place}.{i}", depth) for i, option in enumerate(value)]
    if key == "items" or (key == "additionalProperties" and not isinstance(value, bool)):
        return _read(value, place, depth)
    return value


def _is_type(value: JSON) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPE_NAMES for name in names)


def _is_size(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_filled_list(value: JSON) -> bool:
    return isinstance(value, list) and bool(value)


_Form = tuple[Callable[[JSON], bool], str]

_ANYTHING: _Form = (lambda value: True, "")
_TABLE: _Form = (lambda value: isinstance(value, dict), "an object of schemas")
_LIST: _Form = (_is_filled_list, "a list that is not empty")
_NUMBER: _Form = (is_number, "a number")
_SIZE: _Form = (_is_size, "a whole number of at least 0")
_TEXT: _Form = (lambda value: isinstance(value, str), "a text")

_FORMS: Mapping[str, _Form] = {
    **dict.fromkeys(("properties", "$defs", "definitions"), _TABLE),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "enum"), _LIST),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _SIZE
    ),
    **dict.fromkeys(("pattern", "$ref"), _TEXT),
    "required": (_is_names, "a list of names"),
    "type": (_is_type, f"one of {', '.join(TYPE_NAMES)}, or a list of them"),
    "merge": (lambda value: value in LIST_POLICIES, f"one of {', '.join(LIST_POLICIES)}"),
}
"""Keyword → what its value must be."""
