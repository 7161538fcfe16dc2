"""Values that arrive as JSON texts are decoded where the schema declares them, or refused: never stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from perdure.state import Failure, FailureClass, Guards, Proposal, StateRuntime
from perdure.state.patch import PatchMode
from tests.state.places import Order, propose, refused, reply

OFF = Guards(max_deletions=None, named_deletions=False, max_shrink=None)


class Stage(BaseModel):
    steps: list[str] = []
    counts: dict[str, int] = {}


class Plan(BaseModel):
    plan: list[str] = []
    log: list[str] = Field(default=[], json_schema_extra={"merge": "append"})
    seen: list[str] = Field(default=[], json_schema_extra={"merge": "union"})
    numbers: list[int] = []
    rows: list[list[int]] = []
    orders: list[Order] = []
    maybe: list[str] | None = None
    either: list[str] | dict[str, str] = []
    stage: Stage = Stage()
    stages: dict[str, Stage] = {}
    flags: dict[str, bool] = {}
    note: str = ""


OLD: dict[str, Any] = {"plan": ["old"], "log": ["old"], "seen": ["old"], "stage": Stage(steps=["old"])}


def world(mode: PatchMode = "merge") -> StateRuntime:
    return StateRuntime(Plan(**OLD), patch_mode=mode, guards=OFF)


def proposed(patch: Any, mode: PatchMode = "merge") -> Proposal:
    found = propose(world(mode), reply(patch))
    assert isinstance(found, Proposal), found
    return found


def whole(**fields: Any) -> Any:
    """A patch of the mode `rewrite`."""
    return {**json.loads(world().state_text), **fields}


A_B = '["a", "b"]'

DELIVERIES: list[tuple[PatchMode, Any, tuple[str, ...], Any]] = [
    ("merge", {"plan": A_B}, ("plan",), ["a", "b"]),
    ("merge", {"plan": ' \n[\n"a",\n"b"\n]\n'}, ("plan",), ["a", "b"]),
    ("merge", {"log": A_B}, ("log",), ["old", "a", "b"]),
    ("merge", {"seen": '["old", "a"]'}, ("seen",), ["old", "a"]),
    ("merge", {"plan": "[]"}, ("plan",), []),
    ("merge", {"numbers": '["1", 2, 3.0]'}, ("numbers",), [1, 2, 3]),
    ("merge", {"rows": '["[1]", "[2, 3]"]'}, ("rows",), [[1], [2, 3]]),
    ("merge", {"rows": ["[1]", "[2, 3]"]}, ("rows",), [[1], [2, 3]]),
    ("merge", {"orders": ['{"id": "1", "item": "x"}']}, ("orders",), [{"id": 1, "item": "x", "open": True}]),
    ("merge", {"orders": '[{"id": 1, "item": "x"}]'}, ("orders",), [{"id": 1, "item": "x", "open": True}]),
    ("merge", {"maybe": A_B}, ("maybe",), ["a", "b"]),
    ("merge", {"either": A_B}, ("either",), ["a", "b"]),
    ("merge", {"either": '{"a": "b"}'}, ("either",), {"a": "b"}),
    ("merge", {"stage": {"steps": A_B}}, ("stage", "steps"), ["a", "b"]),
    ("merge", {"stage": '{"steps": "[\\"a\\"]"}'}, ("stage", "steps"), ["a"]),
    ("merge", {"stage": '{"counts": {"n": "3"}}'}, ("stage",), {"steps": ["old"], "counts": {"n": 3}}),
    ("merge", {"stages": {"x": {"steps": A_B}}}, ("stages", "x", "steps"), ["a", "b"]),
    ("merge", {"flags": '{"up": "true"}'}, ("flags",), {"up": True}),
    ("merge", {"plan": {"$replace": True, "value": A_B}}, ("plan",), ["a", "b"]),
    ("merge", {"log": {"$replace": True, "value": A_B}}, ("log",), ["a", "b"]),
    ("merge", {"log": '{"$replace": true, "value": ["a"]}'}, ("log",), None),
    ("ops", [{"op": "set", "path": "/plan", "value": A_B, "replace": True}], ("plan",), ["a", "b"]),
    ("ops", [{"op": "merge", "path": "/log", "value": A_B}], ("log",), ["old", "a", "b"]),
    ("ops", [{"op": "merge", "path": "", "value": {"plan": A_B}}], ("plan",), ["a", "b"]),
    ("ops", [{"op": "append", "path": "/rows", "value": "[1, 2]"}], ("rows",), [[1, 2]]),
    ("ops", [{"op": "append", "path": "/numbers", "value": "7"}], ("numbers",), [7]),
    (
        "ops",
        [{"op": "append", "path": "/plan", "value": "[urgent] call"}],
        ("plan",),
        ["old", "[urgent] call"],
    ),
    ("rewrite", whole(plan=A_B), ("plan",), ["a", "b"]),
    ("rewrite", whole(stage='{"steps": []}'), ("stage", "steps"), []),
    ("merge", {"plan": "just one"}, ("plan",), ["just one"]),
    ("merge", {"numbers": "7"}, ("numbers",), [7]),
    ("merge", {"note": A_B}, ("note",), A_B),
]


@pytest.mark.parametrize(("mode", "patch", "path", "value"), DELIVERIES)
def test_a_text_where_a_container_is_declared(mode: PatchMode, patch: Any, path: Any, value: Any) -> None:
    if value is None:
        assert refused(world(mode), reply(patch)).kind is FailureClass.SCHEMA
        return
    proposal = proposed(patch, mode)
    found: Any = proposal.state
    for key in path:
        found = found[key]
    assert found == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("['a', 'b']", "another notation"),
        ('["a", "b"', "cut short"),
        ('["a", "b",]', "a comma too many"),
        ('```json\n["a"]\n```', "a fence"),
        ('"[\\"a\\"]"', "a text of a text"),
        ('"a"', "a text of a text"),
        ('{"a": 1}', "an object"),
        ("null", "nothing"),
        ("", "nothing"),
        ("  ", "nothing"),
        ("[NaN]", "no JSON"),
        ('[{"a": 1, "a": 2}]', "two values"),
        ('["\\ud800"]', "half a pair"),
        ("[" * 40 + "]" * 40, "too deep"),
        ("[" * 100_000, "far too deep"),
        ("[" + "1" * 5000 + "]", "a number that is too long"),
        ('[{"$set": 1}]', "a reserved key"),
    ],
)
@pytest.mark.parametrize("field", ["plan", "log", "seen"])
def test_a_text_that_cannot_be_read_is_refused(field: str, text: str, why: str) -> None:
    failure = refused(world(), reply({field: text}))
    assert failure.kind is FailureClass.SCHEMA, why
    if text.strip() and "$" not in text:
        assert f"/{field} is a list, and the text " in failure.message
        assert "write a list itself, without quotes around it" in failure.message
    nested = refused(world(), reply({"stage": {"steps": text}}))
    assert nested.kind is FailureClass.SCHEMA


@pytest.mark.parametrize("text", [A_B, "[]", "[1]", "['a', 'b']", '["a", "b"', ' [{"a": 1}]'])
@pytest.mark.parametrize("field", ["plan", "log", "seen"])
def test_a_list_is_never_appended_as_one_text(field: str, text: str) -> None:
    failure = refused(world("ops"), reply([{"op": "append", "path": f"/{field}", "value": text}]))
    assert (failure.kind, failure.code) == (FailureClass.SCHEMA, "json_text")
    assert "one item is added at a time" in failure.message


@pytest.mark.parametrize("key", ["$x", "", "a\nb", "k" * 300])
def test_keys_in_a_text_are_held_to_the_same_rules(key: str) -> None:
    assert refused(world(), reply({"flags": json.dumps({key: True})})).code == "forbidden_key"


def test_what_was_decoded_is_logged_with_both_forms() -> None:
    proposal = proposed({"numbers": '["1", 2]'})
    assert proposal.coercions == (
        '/numbers: "[\\"1\\", 2]" -> ["1", 2]',
        '/numbers/0: "1" -> 1',
    )
    assert proposed({"plan": ["a"], "numbers": [1], "note": "x"}).coercions == ()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PATHS = st.sampled_from(["/plan", "/log", "/seen", "/stage/steps", "/stages/x/steps"])


def nest(path: str, value: Any) -> Any:
    for key in reversed(path[1:].split("/")):
        value = {key: value}
    return value


@given(st.lists(TEXTS, max_size=4), PATHS, st.sampled_from(["merge", "set", "append", "replace"]), st.data())
def test_the_text_of_a_list_is_that_list_or_a_failure(
    items: list[str], path: str, how: str, data: Any
) -> None:
    """The same patch with a real list does the same, and no item is ever the text of the list."""
    text = json.dumps(items, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.none() | st.just(1)))

    def outcome(value: Any) -> Proposal | Failure:
        if how == "merge":
            return propose(world(), reply(nest(path, value)))
        if how == "replace":
            return propose(world(), reply(nest(path, {"$replace": True, "value": value})))
        operation = {"op": how, "path": path, "value": value}
        return propose(world("ops"), reply([operation | ({"replace": True} if how == "set" else {})]))

    as_text, as_list = outcome(text), outcome(items)
    assert isinstance(as_text, Proposal) == isinstance(as_list, Proposal), (as_text, as_list)
    if isinstance(as_text, Proposal) and isinstance(as_list, Proposal):
        assert as_text.state == as_list.state
        assert json.dumps(text) in as_text.coercions[0]
        assert as_list.coercions == ()


STAGES = st.fixed_dictionaries(
    {}, optional={"steps": st.lists(TEXTS, max_size=3), "counts": st.dictionaries(TEXTS, st.integers(-9, 9))}
)


@given(STAGES)
def test_the_text_of_an_object_is_that_object(stage: Any) -> None:
    as_text = propose(world(), reply({"stages": {"x": json.dumps(stage)}}))
    as_object = propose(world(), reply({"stages": {"x": stage}}))
    assert isinstance(as_text, Proposal) == isinstance(as_object, Proposal)
    if isinstance(as_text, Proposal) and isinstance(as_object, Proposal):
        assert as_text.state == as_object.state


class Rounded(BaseModel):
    ratio: float = 0.0
    name: str = ""

    @field_validator("name")
    @classmethod
    def tidy(cls, value: str) -> str:
        return value.strip()


def test_what_the_schema_itself_converts_is_logged_too() -> None:
    runtime = StateRuntime(Rounded)
    large = 2**53 + 1
    proposal = propose(runtime, reply({"ratio": large, "name": " Ada "}))
    assert isinstance(proposal, Proposal)
    assert proposal.coercions == (
        f"/ratio: {large} -> {float(large)}",
        '/name: " Ada " -> "Ada"',
    )
    assert propose(runtime, reply({"ratio": 3})) is not None


class Cat(BaseModel):
    meows: int = 0


class Dog(BaseModel):
    barks: int = 0


class Pets(BaseModel):
    pet: Cat | Dog = Cat()
    pets: list[Cat | Dog] = []


@pytest.mark.parametrize("patch", [{"pet": {"meows": 1, "barks": 2}}, {"pets": [{"meows": 1, "barks": 2}]}])
def test_a_key_that_the_schema_would_drop_is_refused(patch: Any) -> None:
    failure = refused(StateRuntime(Pets), reply(patch))
    assert (failure.kind, failure.code) == (FailureClass.SCHEMA, "unknown_key")
    assert "barks would not be kept" in failure.message or "meows would not be kept" in failure.message
