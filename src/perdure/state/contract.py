"""What the prompt says about the state: its fields, what a patch does, and the form of an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from perdure.core.types import JSON
from perdure.state.action import ActionGrammar
from perdure.state.extract import REASONING
from perdure.state.nodes import Node, Nodes, type_of
from perdure.state.patch import PatchMode
from perdure.state.paths import Path, pointer
from perdure.state.schema import StateSchema

MEMORY = """\
You keep no memory of earlier steps. All you will know later is the state, which is shown to you as JSON
before the latest observation. So in every step, write into it whatever you will need later, and only that."""
"""What is kept where a prompt holds nothing but instructions, state and latest observation."""

_MERGE = """\
"state_patch" is an object with only what changes; {} changes nothing. It is merged into the state:
- Objects are merged key by key, at every depth; keys that you leave out stay as they are.
- null deletes a key. Delete only entries that the observation or your action names.
- A text, number or boolean takes the place of the old value.
- A list takes the place of the old list as a whole, except where the field says that it appends or unites.
- To replace a filled object or an appending list as a whole, write {"$replace": true, "value": ...}."""

_OPS = """\
"state_patch" is a list of operations, carried out in order; [] changes nothing. A path is a text of keys,
each after a slash, such as "/stock/a1" (inside a key, / is written ~1 and ~ is written ~0), or a list of
keys. An item of a list of objects is named by its id, never by its position.
- {"op": "set", "path": P, "value": V}: writes V. To write over a filled object or list, add "replace": true.
- {"op": "merge", "path": P, "value": {...}}: merges an object key by key; null deletes a key.
- {"op": "delete", "path": P}: deletes an entry that the observation or your action names.
- {"op": "append", "path": P, "value": V}: adds one item at the end of a list.
- {"op": "remove", "path": P, "value": V}: takes the item V, or the item with the id V, out of a list.
- {"op": "incr", "path": P, "value": N}: adds the number N (1 without it).
- {"op": "move", "path": P, "to": Q}: moves a value to a free place."""

_REWRITE = """\
"state_patch" is the whole new state. What you leave out is lost; the root fields must all be there."""

_PATCH_RULES: Mapping[PatchMode, str] = {"merge": _MERGE, "ops": _OPS, "rewrite": _REWRITE}

_FREE = """\
# Your answer
Think first if you need to, in a few lines; nobody keeps them. Then write one fenced block, with exactly two
keys: "state_patch" and "action", which is {wording}."""

_HELD = """\
# Your answer
Write one JSON object with three keys: "reasoning", a few words of thought that nobody keeps; "state_patch";
and "action", which is {wording}."""

_THOUGHT = "what I see, and what follows from it"

_LIST_RULE = {"append": "; a patch appends to it", "union": "; a patch adds what is not in it yet"}


def contract(
    schema: StateSchema,
    mode: PatchMode,
    grammar: ActionGrammar,
    *,
    reasoning: bool = False,
    memory: str = MEMORY,
) -> str:
    """The constant part of the prompt: it depends on nothing that happens in a task.

    It ends with its one example, where the grammar has one: the first of the schema's `examples` with that
    action. `reasoning`: the answer has room for thoughts as its first key; else they stand before it.
    """
    answer = (_HELD if reasoning else _FREE).format(wording=grammar.wording.removesuffix("."))
    if grammar.example is None:
        shown = f"Its form:\n{answer_form(mode, grammar, reasoning=reasoning)}"
    else:
        shown = f"For example:\n{fenced(_example(schema, mode, grammar.example, reasoning=reasoning))}"
    return "\n".join(
        [
            f"# Your state\n{memory}\nIts fields:",
            *describe_fields(schema),
            "",
            f"# Changing the state\n{_PATCH_RULES[mode]}",
            "",
            f"{answer} {shown}",
        ]
    )


def answer_form(mode: PatchMode, grammar: ActionGrammar, *, reasoning: bool = False) -> str:
    """How an answer is written, without an example."""
    patch = "[...]" if mode == "ops" else "{...}"
    action = '"..."' if grammar.schema.get("type") == "string" else "{...}"
    thought = '"reasoning": "...", ' if reasoning else ""
    return fenced(f'{{{thought}"state_patch": {patch}, "action": {action}}}')


def fenced(text: str, language: str = "json") -> str:
    """A text between fences that are longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _example(schema: StateSchema, mode: PatchMode, action: JSON, *, reasoning: bool) -> str:
    """A worked answer as JSON: what makes the schema's own example of the empty state, and an action."""
    shown: JSON = next(iter(schema.json_schema.get("examples", ())), {})
    thought = {REASONING: _THOUGHT} if reasoning else {}
    answer = {**thought, "state_patch": _as_patch(shown, schema, mode), "action": action}
    return json.dumps(answer, ensure_ascii=False)


def _as_patch(shown: JSON, schema: StateSchema, mode: PatchMode) -> JSON:
    """What makes an example of the empty state, in the form of a mode."""
    if mode == "merge":
        return shown
    if mode == "rewrite":
        return schema.complete({**schema.initial, **shown})
    return [
        {"op": "append" if isinstance(value, list) else "set", "path": pointer(path), "value": item}
        for path, value in _leaves(shown, ())
        for item in (value if isinstance(value, list) else [value])
    ]


def _leaves(value: JSON, path: Path) -> Iterator[tuple[Path, JSON]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def describe_fields(schema: StateSchema) -> Iterator[str]:
    """One line a field, nested ones indented: name, type, what a patch does to a list, description."""
    yield from _fields(schema.json_schema, schema.nodes, "", ())


def _fields(node: Node, nodes: Nodes, indent: str, above: tuple[Node, ...]) -> Iterator[str]:
    for option in nodes.alternatives(node):
        if any(option is seen for seen in above):
            continue  # a model that contains itself is described once
        for name, field in option.get("properties", {}).items():
            yield f"{indent}- {name}: {_type(field, nodes)}{_remarks(field, nodes)}"
            for inner in _inner(field, nodes):
                yield from _fields(inner, nodes, indent + "  ", (*above, option))


def _inner(field: Node, nodes: Nodes) -> Iterator[Node]:
    """The objects with named fields that a field is or holds."""
    for option in nodes.alternatives(field):
        if "properties" in option:
            yield option
        for holder in ("additionalProperties", "items"):
            if isinstance(option.get(holder), Mapping):
                yield from _inner(option[holder], nodes)


def _type(node: Node, nodes: Nodes) -> str:
    return " or ".join(dict.fromkeys(_type_name(option, nodes) for option in nodes.alternatives(node)))


def _type_name(option: Node, nodes: Nodes) -> str:
    if "enum" in option:
        return "one of " + ", ".join(repr(choice) for choice in option["enum"])
    if "const" in option:
        return repr(option["const"])
    kind = type_of(option)
    if kind == "array":
        return f"list of {_type(nodes.items(option), nodes)}"
    if kind == "object" and isinstance(option.get("additionalProperties"), Mapping):
        return f"object, key → {_type(option['additionalProperties'], nodes)}"
    return {"string": "text", "": "anything"}.get(kind, kind)


def _remarks(field: Node, nodes: Nodes) -> str:
    options = (field, *nodes.alternatives(field))
    rule = next((_LIST_RULE.get(option["merge"], "") for option in options if "merge" in option), "")
    description = next((option["description"] for option in options if "description" in option), "")
    return rule + (f". {' '.join(str(description).split())}" if description else "")
