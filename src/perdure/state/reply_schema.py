"""The JSON Schema of a reply, for models that can be held to one (constrained decoding)."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.types import JSON
from perdure.state.action import ActionGrammar
from perdure.state.extract import REASONING
from perdure.state.merge import REPLACE
from perdure.state.nodes import Node, Nodes, type_of
from perdure.state.patch import PatchMode
from perdure.state.schema import StateSchema

_KEPT = ("enum", "const", "minimum", "maximum", "minLength", "maxLength")
_DEPTH = 8
"""A model that contains itself is unrolled this far."""

# Not `.`: to a grammar that is any character but a line break, the quote that ends the text included.
_PATH: Node = {"type": "string", "pattern": r'^/[^"\\]*$'}


def reply_schema(
    schema: StateSchema, mode: PatchMode, grammar: ActionGrammar, *, reasoning: bool = False
) -> dict[str, JSON]:
    """An object of exactly `state_patch` and `action`, self-contained (no references).

    With `reasoning` it begins with that text: what a model is held to still has room to think first.

    Types are those of the state's schema; what a grammar cannot express (guards, patterns of state fields) is
    left to validation.
    """
    nodes, root = schema.nodes, schema.json_schema
    if mode == "ops":
        patch = _operations()
    else:
        patch = _partial(root, nodes, 0) if mode == "merge" else _exact(root, nodes, 0)
    thought: dict[str, JSON] = {REASONING: {"type": "string"}} if reasoning else {}
    return _closed({**thought, "state_patch": patch, "action": dict(grammar.schema)})


def _partial(node: Node, nodes: Nodes, depth: int, *, deletable: bool = False) -> dict[str, JSON]:
    """A merge patch: every field may be left out, some be null, containers be replaced explicitly."""
    options: list[JSON] = []
    for option in nodes.alternatives(node):
        kind = type_of(option)
        if kind == "object" and depth < _DEPTH:
            options.append(_partial_object(option, nodes, depth))
        else:
            options.append(_exact(option, nodes, depth))
        if depth and kind in ("object", "array"):
            options.append(_closed({REPLACE: {"const": True}, "value": _exact(option, nodes, depth)}))
    if deletable and {"type": "null"} not in options:
        options.append({"type": "null"})
    return _union(options)


def _partial_object(node: Node, nodes: Nodes, depth: int) -> dict[str, JSON]:
    required = node.get("required", ())
    properties = {
        key: _partial(field, nodes, depth + 1, deletable=depth > 0 and key not in required)
        for key, field in node.get("properties", {}).items()
    }
    extra = node.get("additionalProperties", True)
    if isinstance(extra, Mapping):
        extra = _partial(extra, nodes, depth + 1, deletable=True)
    return {"type": "object", "properties": properties, "additionalProperties": extra}


def _exact(node: Node, nodes: Nodes, depth: int) -> dict[str, JSON]:
    return _union([_exact_option(option, nodes, depth) for option in nodes.alternatives(node)])


def _exact_option(node: Node, nodes: Nodes, depth: int) -> dict[str, JSON]:
    kind = type_of(node)
    if not kind or depth >= _DEPTH:
        return {}
    exact: dict[str, JSON] = {"type": kind, **{key: node[key] for key in _KEPT if key in node}}
    if kind == "array":
        exact["items"] = _exact(nodes.items(node), nodes, depth + 1)
    if kind == "object":
        fields = node.get("properties", {})
        exact["properties"] = {key: _exact(field, nodes, depth + 1) for key, field in fields.items()}
        exact["required"] = list(node.get("required", ()))
        extra = node.get("additionalProperties", True)
        exact["additionalProperties"] = (
            _exact(extra, nodes, depth + 1) if isinstance(extra, Mapping) else extra
        )
    return exact


def _operations() -> dict[str, JSON]:
    def operation(*names: str, **fields: JSON) -> dict[str, JSON]:
        return _closed({"op": {"enum": list(names)}, "path": _PATH, **fields})

    options = [
        operation("set", "merge", "append", "remove", value={}),
        _closed({"op": {"const": "set"}, "path": _PATH, "value": {}, "replace": {"const": True}}),
        operation("incr", value={"type": "number"}),
        operation("delete"),
        operation("move", to=_PATH),
    ]
    return {"type": "array", "items": {"anyOf": options}}


def _closed(properties: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _union(options: list[JSON]) -> dict[str, JSON]:
    return options[0] if len(options) == 1 else {"anyOf": options}
