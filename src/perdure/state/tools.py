"""Plain typed functions as actions: schema from annotations, description from the docstring."""

from __future__ import annotations

import inspect
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, get_type_hints

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.nodes import Node
from perdure.state.taxonomy import FailureClass, PatchRejected

if TYPE_CHECKING:
    from pydantic import BaseModel

FINISH = "finish"
"""The action that ends a run, always there: `{"tool": "finish", "arguments": {"answer": "…"}}`."""


_ITEMS = 100_000


class Tool:
    """One function. Every parameter needs an annotation. Raises ConfigError."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name: str = getattr(function, "__name__", "")
        if not self.name.isidentifier() or self.name == FINISH:
            raise ConfigError(
                f"tools: {function!r} needs a name other than {FINISH!r}; give a plain function"
            )
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"tools: {self.name} is async; give a plain function")
        self.description = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        self.function = function
        self._fields, self._arguments, self.schema = _arguments_model(self.name, function)

    def read_arguments(self, arguments: JSON) -> dict[str, Any]:
        """Validated arguments. Raises PatchRejected (`semantic`)."""
        from pydantic import ValidationError

        try:
            valid = self._arguments.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "arguments"
            raise PatchRejected(
                FailureClass.SEMANTIC, "action", f"{self.name}: {place}: {first['msg']}."
            ) from error
        return {parameter: getattr(valid, field) for field, parameter in self._fields.items()}

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """What the function returns; of a generator function, which is run to its end, the first items."""
        result = self.function(**arguments)
        if not inspect.isgeneratorfunction(self.function):
            return result
        items = list(islice(result, _ITEMS))
        deque(result, maxlen=0)
        return items

    def signature(self) -> str:
        """One line for the prompt."""
        properties = self.schema.get("properties", {})
        required = self.schema.get("required", ())
        shown = [
            f"{name}{'' if name in required else '?'}: {_type_text(node)}"
            for name, node in properties.items()
        ]
        return f"- {self.name}({', '.join(shown)})" + (f": {self.description}" if self.description else "")


class ToolCalls:
    """Actions are calls of tools: `{"tool": name, "arguments": {…}}`."""

    wording = 'a call of one tool: {"tool": its name, "arguments": {its arguments by name}}'
    example: JSON = None

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools = {tool.name: tool for tool in (Tool(function) for function in functions)}
        if len(self.tools) != len(functions):
            raise ConfigError("tools: two of them have the same name")
        self.schema: Node = self._schema()

    def check_shape(self, action: JSON) -> None:
        """An object with the two keys."""
        if (
            not isinstance(action, dict)
            or set(action) != {"tool", "arguments"}
            or not isinstance(action["tool"], str)
            or not isinstance(action["arguments"], dict)
        ):
            raise PatchRejected(
                FailureClass.SCHEMA, "action_type", '"action" must be {"tool": "...", "arguments": {...}}.'
            )

    def check(self, action: JSON) -> None:
        """A tool that there is, with arguments that fit."""
        name = action["tool"]
        if name == FINISH:
            if not isinstance(action["arguments"].get("answer", ""), str):
                raise PatchRejected(FailureClass.SEMANTIC, "action", f'{FINISH}: "answer" must be a text.')
        elif name in self.tools:
            self.tools[name].read_arguments(action["arguments"])
        else:
            choices = ", ".join([*self.tools, FINISH])
            raise PatchRejected(
                FailureClass.SEMANTIC, "action", f"There is no tool {name!r}; choose one of: {choices}."
            )

    def describe(self) -> str:
        """The tools, as the prompt lists them."""
        lines = [tool.signature() for tool in self.tools.values()]
        return "\n".join(
            ["# Your tools", *lines, f"- {FINISH}(answer: string): Ends the work with your final answer."]
        )

    def _schema(self) -> Node:
        definitions: dict[str, JSON] = {}
        calls = []
        for tool in self.tools.values():
            arguments = dict(tool.schema)
            definitions |= arguments.pop("$defs", {})
            calls.append(_call_schema(tool.name, arguments))
        answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        calls.append(_call_schema(FINISH, {**answer, "additionalProperties": False}))
        return {"anyOf": [_without_references(call, definitions, 0) for call in calls]}


def _arguments_model(
    name: str, function: Callable[..., Any]
) -> tuple[Mapping[str, str], type[BaseModel], Node]:
    """Fields with the parameters they stand for, the model of the arguments, and its JSON Schema."""
    from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, create_model

    names: dict[str, str] = {}
    fields: dict[str, Any] = {}
    for number, (parameter, hint) in enumerate(_parameters(name, function)):
        default = ... if parameter.default is parameter.empty else parameter.default
        field = parameter.name
        if field.startswith("_") or hasattr(BaseModel, field):  # no field of a model may be called so
            field = f"parameter_{number}"
            fields[field] = (hint, Field(default, alias=parameter.name))
        else:
            fields[field] = (hint, default)
        names[field] = parameter.name
    config = ConfigDict(extra="forbid", protected_namespaces=())
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **fields)
        return names, model, model.model_json_schema()
    except (PydanticUserError, NameError, TypeError) as error:
        reason = " ".join(str(error).split("\n")[0].split())
        raise ConfigError(f"tools: {name}: its annotations have no JSON Schema: {reason}") from error


def _parameters(name: str, function: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """The parameters of a function and their annotations."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = get_type_hints(function, include_extras=True)
    except (ValueError, TypeError, NameError, SyntaxError, AttributeError) as error:
        raise ConfigError(f"tools: {name}: its annotations cannot be read: {error}") from error
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"tools: {name}: {parameter} cannot be given by name")
        if parameter.name not in hints:
            raise ConfigError(f"tools: {name}: parameter {parameter.name!r} has no annotation")
    return [(parameter, hints[parameter.name]) for parameter in parameters]


def _call_schema(name: str, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "arguments": dict(arguments)},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _without_references(node: JSON, definitions: Mapping[str, JSON], depth: int) -> JSON:
    """The schema with every `$ref` written out, so that it can stand inside another one."""
    if isinstance(node, list):
        return [_without_references(item, definitions, depth) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rsplit("/", 1)[-1]
        return {} if depth > 8 else _without_references(definitions[name], definitions, depth + 1)
    return {key: _without_references(value, definitions, depth) for key, value in node.items()}


def _type_text(node: Mapping[str, JSON]) -> str:
    if "anyOf" in node:
        return " or ".join(_type_text(option) for option in node["anyOf"])
    if "enum" in node:
        return " or ".join(map(repr, node["enum"]))
    if "$ref" in node:
        return str(node["$ref"]).rsplit("/", 1)[-1]
    kind = str(node.get("type", "any"))
    return f"list of {_type_text(node['items'])}" if kind == "array" and node.get("items") else kind
