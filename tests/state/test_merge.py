from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.state import StateRuntime
from perdure.state.changes import same
from perdure.state.merge import ListPolicy, merge
from perdure.state.paths import Path
from perdure.state.taxonomy import FailureClass, PatchRejected
from tests.state.places import after, refused, reply, runtime


class Plain:
    """The rules under which a merge is RFC 7396."""

    def list_policy(self, path: Path) -> ListPolicy:
        return "replace"

    def null_is_a_value(self, path: Path) -> bool:
        return False

    def undeletable(self, path: Path) -> bool:
        return False


def rfc_7396(target: Any, patch: Any) -> Any:
    """The algorithm as the RFC's section 2 states it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7396(result.get(name), value)
    return result


def shapes_agree(target: Any, patch: Any) -> bool:
    """Where no filled container gives way to another kind of value, which our merge refuses."""
    if isinstance(patch, dict) and isinstance(target, dict):
        return all(shapes_agree(target.get(key), value) for key, value in patch.items() if value is not None)
    return not (isinstance(target, dict | list) and target) or type(target) is type(patch)


KEYS = st.sampled_from(["a", "b", "c", "d.e", "f/g", ""])
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x"]) | st.floats(allow_nan=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_deep_merge_is_rfc_7396_where_it_is_not_refused(target: Any, patch: Any) -> None:
    import copy

    originals = copy.deepcopy((target, patch))
    if shapes_agree(target, patch):
        assert same(merge(target, patch, Plain()), rfc_7396(target, patch))
    else:
        with pytest.raises(PatchRejected) as caught:
            merge(target, patch, Plain())
        assert caught.value.failure.kind is FailureClass.OVERWRITE
    assert same(list(originals), [target, patch]), "neither argument changes"


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [  # RFC 7396, appendix A, without the cases that put a scalar over a filled container
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_examples_of_the_rfc(target: Any, patch: Any, merged: Any) -> None:
    assert merge(target, patch, Plain()) == merged


def test_a_nested_null_deletes_and_keeps_the_siblings() -> None:
    world = runtime({"inventory": {"shelf_41": "a", "shelf_42": "b", "shelf_43": "c"}})
    state = after(world, {"inventory": {"shelf_42": None}}, "Ship b from shelf_42")
    assert state["inventory"] == {"shelf_41": "a", "shelf_43": "c"}


def test_null_on_a_missing_key_is_nothing() -> None:
    world = runtime({"inventory": {"shelf_1": "a"}})
    before = world.state_text
    after(world, {"inventory": {"shelf_9": None}})
    assert world.state_text == before
    assert world.journal.entries[0].changes == ()


def test_lists_replace_append_or_unite_as_declared() -> None:
    world = runtime({"inbound": ["a"], "log": ["a"], "orders": [{"id": 1, "item": "a"}]})
    state = after(world, {"inbound": ["a", "b"], "log": ["a"], "orders": [{"id": 2, "item": "b"}]})
    assert state["inbound"] == ["a", "b"]
    assert state["log"] == ["a", "a"]
    assert [order["id"] for order in state["orders"]] == [2]


def test_a_scalar_gives_way_to_an_object_but_a_filled_object_never_to_a_scalar() -> None:
    assert merge({"a": 1}, {"a": {"b": 2}}, Plain()) == {"a": {"b": 2}}
    failure = refused(runtime({"inventory": {"s": "a"}}), reply({"inventory": "empty"}))
    assert (failure.kind, failure.code) == (FailureClass.OVERWRITE, "replaced_container")


def test_root_fields_cannot_be_deleted_but_nullable_ones_emptied() -> None:
    world = runtime({"inventory": {"s": "a"}, "note": "x"})
    failure = refused(world, reply({"inventory": None}))
    assert (failure.kind, failure.code) == (FailureClass.OVERWRITE, "undeletable")
    assert after(world, {"note": None})["note"] is None


def test_replacing_a_container_has_to_be_asked_for() -> None:
    world = runtime({"inventory": {f"s{i}": "x" for i in range(9)}, "log": ["a", "b"]})
    state = after(
        world,
        {
            "inventory": {"$replace": True, "value": {"t": "y"}},
            "log": {"$replace": True, "value": []},
        },
    )
    assert state["inventory"] == {"t": "y"}
    assert state["log"] == []


@pytest.mark.parametrize(
    "patch",
    [
        {"inventory": {"$replace": False, "value": {}}},
        {"inventory": {"$replace": True}},
        {"inventory": {"$replace": True, "value": {}, "more": 1}},
        {"inventory": {"$set": 1}},
    ],
)
def test_a_malformed_replacement_is_a_failure_of_form(patch: Any) -> None:
    assert refused(runtime({"inventory": {"a": "b"}}), reply(patch)).kind is FailureClass.SCHEMA


def test_the_whole_state_cannot_be_replaced() -> None:
    failure = refused(runtime(), reply({"$replace": True, "value": {}}))
    assert failure.kind is FailureClass.OVERWRITE


def test_the_word_for_replacing_is_never_stored() -> None:
    world = StateRuntime(
        {"type": "object", "properties": {"any": {"default": None}, "list": {"default": []}}}
    )
    for patch in (
        {"list": [{"$replace": True, "value": 1}]},
        {"any": {"$replace": True, "value": {"$replace": True, "value": 1}}},
    ):
        assert refused(world, reply(patch)).code == "forbidden_key"
