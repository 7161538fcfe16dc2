from __future__ import annotations

from typing import Any

import pytest

from perdure.state import FailureClass, Guards, StateRuntime
from tests.state.places import after, refused, reply, runtime

SHELVES = {"inventory": {f"shelf_{i}": f"item_{i}" for i in range(20)}, "inbound": list("abcdefgh")}


def code(patch: Any, observation: str = "", action: str = "Wait", **guards: Any) -> str:
    failure = refused(runtime(SHELVES, guards=Guards(**guards)), reply(patch, action), observation)
    assert failure.kind is FailureClass.OVERWRITE
    return failure.code


def drop(*numbers: int) -> dict[str, Any]:
    return {"inventory": {f"shelf_{i}": None for i in numbers}}


def test_a_deleted_entry_must_be_named_in_the_observation_or_the_action() -> None:
    assert code(drop(4), "shelf_42 and shelf_14 are broken") == "unnamed_deletion"
    assert len(after(runtime(SHELVES), drop(4), "Shelf_4 is broken")["inventory"]) == 19
    assert len(after(runtime(SHELVES), drop(4), action="Ship item_4 shelf_4")["inventory"]) == 19


def test_what_a_named_entry_holds_is_named_too() -> None:
    orders = {"inventory": {"pr_7": "feature-x", "feature-x": "abc", "other": "abc"}}
    state = after(runtime(orders), {"inventory": {"pr_7": None, "feature-x": None}}, action="Merge pr_7")
    assert state["inventory"] == {"other": "abc"}
    failure = refused(runtime(orders), reply({"inventory": {"pr_7": None, "other": None}}, "Merge pr_7"))
    assert failure.code == "unnamed_deletion"


def test_only_so_many_deletions_a_step() -> None:
    names = " ".join(SHELVES["inventory"])
    assert code(drop(*range(6)), names) == "too_many_deletions"
    assert len(after(runtime(SHELVES), drop(*range(5)), names)["inventory"]) == 15
    assert code(drop(0, 1), names, max_deletions=1) == "too_many_deletions"


def test_items_that_a_new_list_leaves_out_are_deletions() -> None:
    world = {"orders": [{"id": i, "item": "x"} for i in range(9)]}
    failure = refused(runtime(world), reply({"orders": world["orders"][:3]}))
    assert failure.code == "shrink"
    failure = refused(runtime(world), reply({"orders": world["orders"][1:]}))
    assert failure.code == "unnamed_deletion", "items with ids are entries"


def test_a_container_may_not_shrink_by_more_than_half() -> None:
    names = " ".join(SHELVES["inventory"])
    assert code(drop(*range(11)), names, max_deletions=None) == "shrink"
    state = after(runtime(SHELVES, guards=Guards(max_deletions=None)), drop(*range(10)), names)
    assert len(state["inventory"]) == 10


def test_small_containers_may_be_emptied() -> None:
    small = {"inventory": {"shelf_1": "a"}, "orders": [{"id": 1, "item": "a"}]}
    state = after(runtime(small), {"inventory": {"shelf_1": None}, "orders": []}, "1: shelf_1 is empty")
    assert state["inventory"] == {}


def test_a_declared_field_is_emptied_without_being_named() -> None:
    world = StateRuntime(
        {
            "type": "object",
            "properties": {
                "box": {"type": "object", "properties": {"lid": {"type": "string"}}, "default": {}}
            },
        }
    )
    after(world, {"box": {"lid": "open"}})
    assert after(world, {"box": {"lid": None}}, step=2) == {"box": {}}


def test_every_guard_can_be_turned_off() -> None:
    off = Guards(max_deletions=None, named_deletions=False, max_shrink=None)
    assert after(runtime(SHELVES, guards=off), drop(*range(20)))["inventory"] == {}


def test_rewriting_the_state_is_guarded_alike() -> None:
    world = runtime({**SHELVES, "stock": 5}, patch_mode="rewrite")
    whole = {
        "inventory": {"shelf_0": "item_0"},
        "inbound": [],
        "log": [],
        "orders": [],
        "stock": 5,
        "note": None,
    }
    assert refused(world, reply(whole)).code == "shrink"
    del whole["inventory"]
    assert refused(world, reply(whole)).code == "undeletable"


@pytest.mark.parametrize("key", ["a.b", "a(b", "[x]*", "ключ", "1"])
def test_keys_are_looked_for_as_they_are(key: str) -> None:
    world = {"inventory": {key: "v", "w": "v"}}
    assert after(runtime(world), {"inventory": {key: None}}, f"gone: {key}!")["inventory"] == {"w": "v"}
    assert (
        refused(runtime(world), reply({"inventory": {key: None}}), "nothing here").code == "unnamed_deletion"
    )
