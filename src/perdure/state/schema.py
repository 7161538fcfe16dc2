"""The declared shape of a state: a pydantic model or a JSON Schema, read once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.changes import dropped_keys
from perdure.state.merge import LIST_POLICIES, ListPolicy
from perdure.state.nodes import ANYTHING, Node, Nodes, type_of
from perdure.state.paths import Path
from perdure.state.schema_check import read_json_schema
from perdure.state.taxonomy import FailureClass, PatchRejected
from perdure.state.validation import Misfit, first_error

if TYPE_CHECKING:
    from pydantic import BaseModel


class StateSchema:
    """What a state may hold.

    `source` is a pydantic model class (every field with a default), an instance of one (its values are the
    initial state), or a JSON Schema of an object. A list declares what a patch
    does to it with the schema key `merge`: `replace` (default), `append` or `union`; in pydantic:
    `Field(json_schema_extra={"merge": "append"})`. Raises ConfigError.
    """

    def __init__(self, source: Any) -> None:
        self.model: type[BaseModel] | None = None
        """The pydantic model, where the schema is one."""
        if isinstance(source, Mapping):
            self.json_schema: Node = read_json_schema(source)
            self._fit: Callable[[JSON], dict[str, JSON] | Misfit] = self._fit_to_schema
        else:
            self.model, self.json_schema = _read_model(source)
            self._fit = _fit_to_model(self.model)
        self.nodes = Nodes(self.json_schema)
        self._check_shape()
        self.initial: dict[str, JSON] = self._first_state(source)
        """The state before the first patch."""
        self.digest_text = json.dumps(self.json_schema, sort_keys=True)

    def complete(self, candidate: JSON) -> dict[str, JSON]:
        """The valid state of a candidate, defaults filled in. Raises PatchRejected (`schema`)."""
        found = self._fit(candidate)
        if isinstance(found, Misfit):
            raise PatchRejected(FailureClass.SCHEMA, "invalid_state", f"The new state is invalid: {found}.")
        return found

    def fit_saved(self, state: dict[str, JSON]) -> dict[str, JSON] | Misfit:
        """A state that was saved under an earlier schema, with the defaults of new fields.

        A misfit when a value is not valid any more, or would be dropped because its field is gone.
        """
        empty = _empty_fields(self.json_schema, self.nodes) if self.model is None else {}
        found = self._fit({**empty, **state})
        if isinstance(found, Misfit):
            return found
        gone = list(dropped_keys(state, found))
        # A field that reads its old name (`AliasChoices`), or a validator that moves it, has used the key.
        ignored = _ignored_keys(self.model, state) if gone and self.model is not None else set()
        lost = next((path for path in gone if path[-1] in ignored), None)
        return found if lost is None else Misfit(lost, "is not a field of the state")

    def list_policy(self, path: Path) -> ListPolicy:
        """What a list in a patch does to the list at this place."""
        node = self.nodes.at(path)
        if node is None:
            return "replace"
        for option in (node, *self.nodes.alternatives(node)):
            if "merge" in option:
                policy: ListPolicy = option["merge"]
                return policy
        return "replace"

    def null_is_a_value(self, path: Path) -> bool:
        """A declared field that may be null: null empties it, as nothing else could."""
        if not self.is_field(path):
            return False
        node = self.nodes.at(path)
        return node is not None and any(type_of(option) == "null" for option in self.nodes.alternatives(node))

    def undeletable(self, path: Path) -> bool:
        """Root fields and other required fields stay."""
        return self.is_field(path) and (len(path) == 1 or path[-1] in self._required(path[:-1]))

    def is_field(self, path: Path) -> bool:
        """Whether the last key of a path is a declared field, not an entry that patches make."""
        parent = self.nodes.at(path[:-1])
        if parent is None:
            return False
        return any(path[-1] in option.get("properties", {}) for option in self.nodes.alternatives(parent))

    def _required(self, path: Path) -> set[str]:
        parent = self.nodes.at(path) or ANYTHING
        return {key for option in self.nodes.alternatives(parent) for key in option.get("required", ())}

    def _fit_to_schema(self, candidate: JSON) -> dict[str, JSON] | Misfit:
        filled: dict[str, JSON] = _with_defaults(candidate, self.json_schema, self.nodes)
        return first_error(filled, self.json_schema, self.nodes) or filled

    def _check_shape(self) -> None:
        if type_of(self.nodes.alternatives(self.json_schema)[0]) != "object":
            raise ConfigError("state_schema: a state is an object; give a schema of type 'object'")
        todo: list[JSON] = [self.json_schema]
        while todo:
            node = todo.pop()
            if isinstance(node, list):
                todo += node
            elif isinstance(node, Mapping):
                policy = node.get("merge", "replace")
                # A mapping is the schema of a field that is called so.
                if not isinstance(policy, Mapping) and policy not in LIST_POLICIES:
                    raise ConfigError(
                        f"state_schema: merge = {policy!r}; choose one of: {', '.join(LIST_POLICIES)}"
                    )
                if node.get("uniqueItems") is True:
                    raise ConfigError("state_schema: a set has no order; use a list with merge = 'union'")
                todo += node.values()

    def _first_state(self, source: Any) -> dict[str, JSON]:
        values: JSON = {}
        if self.model is None:
            values = _empty_fields(self.json_schema, self.nodes)
        elif isinstance(source, self.model):
            values = source.model_dump(mode="json", by_alias=True, round_trip=True)
        try:
            return self.complete(values)
        except PatchRejected as error:
            raise ConfigError(
                f"state_schema: there is no initial state, give every field a default ({error})"
            ) from error


def _read_model(source: Any) -> tuple[type[BaseModel], Node]:
    from pydantic import BaseModel

    model = source if isinstance(source, type) else type(source)
    if not issubclass(model, BaseModel):
        raise ConfigError(f"state_schema: {source!r} is neither a pydantic model nor a JSON Schema")
    schema = model.model_json_schema()
    _close(schema)
    return model, schema


def _close(schema: JSON) -> None:
    """Refuse undeclared keys, which a pydantic model would drop: nothing gets lost."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            _close(value)
    elif isinstance(schema, list):
        for value in schema:
            _close(value)


def _fit_to_model(model: type[BaseModel]) -> Callable[[JSON], dict[str, JSON] | Misfit]:
    from pydantic import ValidationError

    def fit(candidate: JSON) -> dict[str, JSON] | Misfit:
        try:
            # JSON's strict mode: a text may be a date, a list a tuple, but "3" is no number.
            valid = model.model_validate_json(json.dumps(candidate), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            return Misfit(tuple(map(str, first["loc"])), first["msg"])
        return valid.model_dump(mode="json", by_alias=True, round_trip=True)

    return fit


def _ignored_keys(model: type[BaseModel], state: JSON) -> set[str]:
    """Names of the keys that no field and no validator of a model reads."""
    from pydantic import ValidationError

    try:
        model.model_validate_json(json.dumps(state), strict=True, extra="forbid")
    except ValidationError as error:
        return {str(one["loc"][-1]) for one in error.errors() if one["type"] == "extra_forbidden"}
    return set()


def _empty_fields(schema: Node, nodes: Nodes) -> dict[str, JSON]:
    """Required containers without a default start empty."""
    empty: Mapping[str, JSON] = {"object": {}, "array": []}
    values: dict[str, JSON] = {}
    for key in schema.get("required", ()):
        node = nodes.child(schema, key)
        if node is not None and "default" not in node:
            values.update((key, empty[kind]) for kind in nodes.wanted_types(node) if kind in empty)
    return values


def _with_defaults(value: JSON, node: Node, nodes: Nodes) -> JSON:
    if isinstance(value, list):
        items = nodes.items(node)
        return [_with_defaults(item, items, nodes) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {
        key: _with_defaults(item, nodes.child(node, key) or ANYTHING, nodes)
        if isinstance(item, dict | list)
        else item
        for key, item in value.items()
    }
    for option in nodes.alternatives(node):
        for key, declared in option.get("properties", {}).items():
            if "default" in declared and key not in filled:
                filled[key] = json.loads(json.dumps(declared["default"]))
    return filled
