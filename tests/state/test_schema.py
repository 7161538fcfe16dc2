from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from perdure.core.errors import ConfigError
from perdure.state import FailureClass, Proposal, StateRuntime, StateSchema
from perdure.state.action import TextActions
from perdure.state.contract import contract
from tests.state.places import Warehouse, after, propose, refused, reply, runtime

DICT: dict[str, Any] = {
    "type": "object",
    "required": ["shelves", "mode"],
    "additionalProperties": False,
    "properties": {
        "shelves": {"type": "object", "additionalProperties": {"$ref": "#/$defs/item"}},
        "mode": {"enum": ["idle", "busy"], "default": "idle"},
        "seen": {
            "type": "array",
            "items": {"type": "string", "maxLength": 5},
            "default": [],
            "merge": "union",
        },
        "level": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None},
    },
    "$defs": {
        "item": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "weight": {"type": "number", "exclusiveMinimum": 0}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}


@pytest.mark.parametrize(
    ("patch", "state", "log"),
    [
        ({"stock": "3"}, {"stock": 3}, '/stock: "3" -> 3'),
        ({"stock": 3.0}, {"stock": 3}, "/stock: 3.0 -> 3"),
        ({"inventory": {"s": 7}}, {"inventory": {"s": "7"}}, '/inventory/s: 7 -> "7"'),
        ({"log": "x"}, {"log": ["x"]}, '/log: "x" -> ["x"]'),
        ({"note": 5}, {"note": "5"}, '/note: 5 -> "5"'),
        (
            {"orders": [{"id": "4", "item": "a", "open": "false"}]},
            {"orders": [{"id": 4, "item": "a", "open": False}]},
            '/orders/0/id: "4" -> 4',
        ),
    ],
)
def test_lossless_conversions_are_made_and_logged(patch: Any, state: Any, log: str) -> None:
    world = runtime()
    proposal = propose(world, reply(patch))
    assert isinstance(proposal, Proposal)
    assert proposal.state == {**world.state, **state}
    assert log in proposal.coercions


@pytest.mark.parametrize(
    "value", ["three", " 3", "03", "3.5", 3.5, True, [3], {"a": 3}, "1e3", "٣", "9" * 30, "-", ""]
)
def test_lossy_conversions_are_refused(value: Any) -> None:
    assert refused(runtime(), reply({"stock": value})).kind is FailureClass.SCHEMA


def test_a_list_never_becomes_an_object_or_the_reverse() -> None:
    assert refused(runtime(), reply({"inventory": ["a"]})).kind is FailureClass.SCHEMA
    assert refused(runtime(), reply({"log": {"a": "b"}})).kind is FailureClass.SCHEMA


def test_undeclared_keys_are_refused_at_every_depth() -> None:
    assert refused(runtime(), reply({"shelves": {}})).code == "unknown_key"
    failure = refused(runtime(), reply({"orders": [{"id": 1, "item": "a", "colour": "red"}]}))
    assert (failure.code, "/orders/0/colour" in failure.message) == ("unknown_key", True)


def test_json_schema_states_are_validated_alike() -> None:
    world = StateRuntime(DICT)
    assert json.loads(world.state_text) == {"shelves": {}, "mode": "idle", "seen": [], "level": None}
    state = after(world, {"shelves": {"a": {"name": "nut", "weight": 2}}, "seen": "x", "level": "4"})
    assert state == {
        "shelves": {"a": {"name": "nut", "weight": 2}},
        "mode": "idle",
        "seen": ["x"],
        "level": 4,
    }


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"shelves": {"a": {"weight": 2}}}, "/shelves/a/name: is missing"),
        ({"shelves": {"a": {"name": "n", "weight": 0}}}, "/shelves/a/weight: breaks exclusiveMinimum"),
        ({"shelves": {"a": "nut"}}, "/shelves/a: must be of type object"),
        ({"mode": "lazy"}, "/mode: must be one of"),
        ({"seen": ["toolong"]}, "/seen/0: breaks maxLength"),
        ({"level": -1}, "/level: breaks minimum"),
        ({"shelves": {"a": {"name": None}}}, "is missing"),
    ],
)
def test_json_schema_errors_name_the_place(patch: Any, words: str) -> None:
    failure = refused(StateRuntime(DICT), reply(patch))
    assert failure.kind is FailureClass.SCHEMA
    assert words in failure.message


class Nested(BaseModel):
    day: date = date(2024, 1, 2)
    mode: Literal["a", "b"] = "a"
    inner: dict[str, list[int]] = {}
    children: dict[str, Nested] = {}


def test_pydantic_types_beyond_json_are_read_in_json_form() -> None:
    world = StateRuntime(Nested)
    state = after(world, {"day": "2025-06-07", "inner": {"x": [1]}, "children": {"c": {"mode": "b"}}})
    assert state["day"] == "2025-06-07"
    assert state["children"]["c"]["day"] == "2024-01-02"
    assert refused(StateRuntime(Nested), reply({"day": "soon"})).kind is FailureClass.SCHEMA


def test_an_instance_gives_the_initial_state() -> None:
    assert json.loads(StateRuntime(Warehouse(stock=4)).state_text)["stock"] == 4


class NoDefault(BaseModel):
    n: int


class WithSet(BaseModel):
    names: set[str] = set()


class BadPolicy(BaseModel):
    names: list[str] = Field(default=[], json_schema_extra={"merge": "sometimes"})


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (NoDefault, "n"),
        (WithSet, "union"),
        (BadPolicy, "replace, append, union"),
        ({"type": "array"}, "object"),
        ({"type": "object", "properties": {"a": {"dependentSchemas": {}}}}, "dependentSchemas"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}, "required": ["a"]},
            "leads nowhere",
        ),
        (3, "neither"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(source: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        StateRuntime(source)


def test_the_contract_names_every_field_its_type_rule_and_description() -> None:
    text = contract(StateSchema(Warehouse), "merge", TextActions())
    assert "- inventory: object, key → text. occupied shelves" in text
    assert "- log: list of text; a patch appends to it" in text
    assert "- inbound: list of text; a patch adds what is not in it yet" in text
    assert "  - id: integer" in text
    assert "- note: text or null" in text
    for mode in ("ops", "rewrite"):
        assert contract(StateSchema(Nested), mode, TextActions()) != text


def test_reply_schemas_are_self_contained_and_closed() -> None:
    for source in (Warehouse, Nested, DICT):
        for mode in ("merge", "ops", "rewrite"):
            schema = StateRuntime(source, patch_mode=mode).reply_schema
            assert "$ref" not in json.dumps(schema)
            assert schema["required"] == ["state_patch", "action"]
            assert schema["additionalProperties"] is False


def test_reply_schemas_hold_the_grammar_of_actions() -> None:
    by_pattern = StateRuntime(Warehouse, actions=TextActions("go|stop")).reply_schema["properties"]["action"]
    assert by_pattern == {"type": "string", "pattern": "^(?:go|stop)$"}
    by_list = StateRuntime(Warehouse, actions=TextActions(["go"])).reply_schema["properties"]["action"]
    assert by_list == {"type": "string", "enum": ["go"]}
    with pytest.raises(ConfigError):
        TextActions("(")
    with pytest.raises(ConfigError):
        TextActions([])
