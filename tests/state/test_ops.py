from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.state import FailureClass, StateRuntime
from perdure.state.paths import parse_path, parse_pointer, pointer
from tests.state.places import after, refused, reply, runtime

STATE = {
    "inventory": {"shelf_1": "a", "shelf.2": "b", "x/y~z": "c"},
    "inbound": ["m", "n"],
    "orders": [{"id": 17, "item": "a"}, {"id": 18, "item": "b"}],
    "stock": 3,
}


def operate(*operations: Any, observation: str = "") -> Any:
    return after(runtime(STATE, patch_mode="ops"), list(operations), observation)


def fails(*operations: Any, observation: str = "") -> tuple[FailureClass, str]:
    failure = refused(runtime(STATE, patch_mode="ops"), reply(list(operations)), observation)
    return failure.kind, failure.code


@given(st.lists(st.text()))
def test_pointers_round_trip_whatever_the_keys_hold(keys: list[str]) -> None:
    assert parse_pointer(pointer(tuple(keys))) == tuple(keys)
    assert parse_path(keys) == tuple(keys)


def test_different_paths_have_different_pointers() -> None:
    assert pointer(("a.b", "c")) != pointer(("a", "b.c"))
    assert pointer(("a/b",)) == "/a~1b"


def test_every_operation() -> None:
    state = operate(
        {"op": "set", "path": "/inventory/shelf_9", "value": "z"},
        {"op": "set", "path": ["inventory", "shelf.2"], "value": "bb"},
        {"op": "merge", "path": "/inventory", "value": {"x/y~z": "cc"}},
        {"op": "append", "path": "/log", "value": "hello"},
        {"op": "append", "path": "/inbound", "value": "m"},
        {"op": "remove", "path": "/inbound", "value": "n"},
        {"op": "incr", "path": "/stock"},
        {"op": "incr", "path": "/stock", "value": -3},
        {"op": "move", "path": "/inventory/shelf_1", "to": "/inventory/shelf_7"},
        {"op": "set", "path": "/orders/17/open", "value": False},
        {"op": "remove", "path": "/orders", "value": 18},
        observation="shelf_1 is closed, order 18 was shipped",
    )
    assert state == {
        "inventory": {"shelf.2": "bb", "x/y~z": "cc", "shelf_9": "z", "shelf_7": "a"},
        "inbound": ["m"],
        "log": ["hello"],
        "orders": [{"id": 17, "item": "a", "open": False}],
        "stock": 1,
        "note": None,
    }


def test_delete_names_an_entry_and_a_missing_one_is_nothing() -> None:
    state = operate(
        {"op": "delete", "path": "/inventory/x~1y~0z"},
        {"op": "delete", "path": "/inventory/none"},
        {"op": "delete", "path": "/orders/17"},
        {"op": "delete", "path": "/note"},
        observation="x/y~z and 17 are gone",
    )
    assert set(state["inventory"]) == {"shelf_1", "shelf.2"}
    assert [order["id"] for order in state["orders"]] == [18]


def test_an_item_of_a_list_is_named_by_id_never_by_position() -> None:
    assert fails({"op": "set", "path": "/orders/0/item", "value": "x"}) == (
        FailureClass.SEMANTIC,
        "nothing_there",
    )
    assert fails({"op": "delete", "path": "/inbound/0"})[0] is FailureClass.SEMANTIC


@pytest.mark.parametrize(
    ("operation", "kind", "code"),
    [
        ("set", FailureClass.SCHEMA, "operation"),
        ({"op": "sett", "path": "/stock", "value": 1}, FailureClass.SCHEMA, "operation"),
        ({"op": ["set"], "path": "/stock", "value": 1}, FailureClass.SCHEMA, "operation"),
        ({"op": "set", "path": "/stock"}, FailureClass.SCHEMA, "operation"),
        ({"op": "delete", "path": "/stock", "value": 1}, FailureClass.SCHEMA, "operation"),
        ({"op": "set", "path": "stock", "value": 1}, FailureClass.SCHEMA, "path"),
        ({"op": "set", "path": {"a": 1}, "value": 1}, FailureClass.SCHEMA, "path"),
        ({"op": "set", "path": "/shelves", "value": 1}, FailureClass.SCHEMA, "unknown_key"),
        ({"op": "set", "path": "/stock/deep", "value": 1}, FailureClass.SCHEMA, "not_a_container"),
        ({"op": "set", "path": "/stock", "value": "many"}, FailureClass.SCHEMA, "invalid_state"),
        ({"op": "append", "path": "/stock", "value": 1}, FailureClass.SCHEMA, "not_a_list"),
        ({"op": "set", "path": "/inventory/$replace", "value": "x"}, FailureClass.SCHEMA, "forbidden_key"),
        ({"op": "set", "path": "/inventory/a\nb", "value": "x"}, FailureClass.SCHEMA, "forbidden_key"),
        ({"op": "set", "path": "/inventory/", "value": "x"}, FailureClass.SCHEMA, "forbidden_key"),
        ({"op": "set", "path": ["inventory"] * 1000, "value": "x"}, FailureClass.SCHEMA, "depth"),
        ({"op": "incr", "path": "/note"}, FailureClass.SCHEMA, "not_a_number"),
        ({"op": "incr", "path": "/stock", "value": "x"}, FailureClass.SCHEMA, "not_a_number"),
        ({"op": "set", "path": "/inventory", "value": {}}, FailureClass.OVERWRITE, "replaced_container"),
        ({"op": "set", "path": "/inventory", "value": []}, FailureClass.OVERWRITE, "replaced_container"),
        ({"op": "delete", "path": "/inventory"}, FailureClass.OVERWRITE, "undeletable"),
        ({"op": "delete", "path": ""}, FailureClass.OVERWRITE, "whole_state"),
        ({"op": "move", "path": "/stock", "to": "/inventory/s"}, FailureClass.OVERWRITE, "undeletable"),
        (
            {"op": "move", "path": "/inventory/shelf_1", "to": "/inventory/shelf.2"},
            FailureClass.OVERWRITE,
            "move",
        ),
        (
            {"op": "move", "path": "/inventory/no", "to": "/inventory/t"},
            FailureClass.SEMANTIC,
            "nothing_there",
        ),
        (
            {"op": "move", "path": "/inventory/shelf_1", "to": "/inventory/shelf_1/in"},
            FailureClass.SEMANTIC,
            "move",
        ),
        ({"op": "remove", "path": "/inbound", "value": "q"}, FailureClass.SEMANTIC, "nothing_there"),
    ],
)
def test_what_cannot_be_done_is_classified(operation: Any, kind: FailureClass, code: str) -> None:
    good = {"op": "incr", "path": "/stock"}
    assert fails(good, operation) == (kind, code), "and the operation before it left no trace"


def test_replace_is_asked_for_with_a_word() -> None:
    state = operate({"op": "set", "path": "/inventory", "value": {"t": "y"}, "replace": True})
    assert state["inventory"] == {"t": "y"}


def test_a_count_never_becomes_infinite() -> None:
    world = StateRuntime(
        {"type": "object", "properties": {"n": {"type": "number", "default": 1.5e308}}}, patch_mode="ops"
    )
    failure = refused(world, reply([{"op": "incr", "path": "/n", "value": 1.5e308}]))
    assert (failure.kind, failure.code) == (FailureClass.SCHEMA, "size")


OPERATION = st.fixed_dictionaries(
    {"op": st.sampled_from(["set", "merge", "delete", "append", "remove", "incr", "move", "jump"])},
    optional={
        "path": st.sampled_from(
            ["", "/inventory/shelf_1", "/orders/17", "/orders/17/item", "/inbound", "/stock"]
        )
        | st.lists(st.text(max_size=3), max_size=3),
        "value": st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.dictionaries(st.text(max_size=4), st.text()),
        "to": st.sampled_from(["/inventory/new", "/note", "/orders/18/item", "/stock"]),
        "replace": st.booleans(),
    },
)


@given(st.lists(OPERATION | st.none(), max_size=4))
def test_any_list_of_operations_is_a_proposal_or_a_failure(operations: list[Any]) -> None:
    world = runtime(STATE, patch_mode="ops")
    before = world.state_text
    world.propose(reply(operations), step=1, observation="shelf_1 17")
    assert world.state_text == before
