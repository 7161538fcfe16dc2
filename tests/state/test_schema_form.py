"""JSON Schemas that are none are refused when they are read; patterns are matched in linear time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError
from perdure.state import Failure, StateRuntime, StateSchema
from perdure.state.patterns import matches


def field(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": keywords}}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = field(**schema)
    return schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": 5}, "state_schema: properties: expected an object of schemas"),
        ({"type": "object", "properties": {"a": False}}, "state_schema.properties.a: expected a schema"),
        ({"type": "object", "properties": {"a": 5}}, "state_schema.properties.a: expected a schema, got 5"),
        ({"type": "object", "required": 5}, "state_schema: required: expected a list of names, got 5"),
        ({"type": "object", "additionalProperties": 5}, "additionalProperties: expected a schema, got 5"),
        ({"type": "object", "$defs": 5}, "$defs: expected an object of schemas"),
        ({"type": 5}, "type: expected one of object, array"),
        ({"$ref": 5}, "$ref: expected a text"),
        (field(type="nonsense"), "got 'nonsense'"),
        (field(type=[]), "or a list of them, got []"),
        (field(type="string", default={1}), "it is no JSON: Object of type set"),
        (field(default=float("nan")), "it is no JSON: Out of range"),
        (field(type="string", pattern="("), "pattern '(' is no regular expression"),
        (field(type="string", pattern="(?=a)b"), "without look-around"),
        (field(type="string", pattern=5), "pattern: expected a text"),
        (field(enum=5), "enum: expected a list"),
        (field(anyOf=[]), "anyOf: expected a list"),
        (field(items=[{}], type="array"), "items: expected a schema"),
        (field(minimum="x"), "minimum: expected a number"),
        (field(maxLength=-1), "maxLength: expected a whole number of at least 0"),
        (field(merge=5), "merge: expected one of replace, append, union"),
        (nested(40), ""),
        (nested(3_000), "state_schema"),
    ],
)
def test_a_schema_of_the_wrong_form_is_one_line(schema: Any, expected: str) -> None:
    if not expected:  # as deep as this is fine
        StateSchema(schema)
        return
    with pytest.raises(ConfigError) as caught:
        StateSchema(schema)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_true_is_a_schema_that_takes_anything() -> None:
    runtime = StateRuntime({"type": "object", "properties": {"a": True}})
    for value in ("1", "[1]", '"x"'):
        reply = f'{{"state_patch": {{"a": {value}}}, "action": "go"}}'
        assert not isinstance(runtime.propose(reply, step=1, observation=""), Failure)


def test_a_pattern_cannot_stall_the_process() -> None:
    runtime = StateRuntime(field(type="string", pattern="^(a+)+$", default="a"))
    reply = f'{{"state_patch": {{"a": "{"a" * 50_000}!"}}, "action": "go"}}'
    refused = runtime.propose(reply, step=1, observation="")
    assert isinstance(refused, Failure)
    assert "breaks pattern" in refused.message


@given(st.sampled_from(["^ab*$", "b", "^[a-c]{2,3}", "(a|b)c"]), st.text("abc", max_size=6))
def test_patterns_mean_what_they_mean_in_python(pattern: str, text: str) -> None:
    assert matches(pattern, text) == (re.search(pattern, text) is not None)
