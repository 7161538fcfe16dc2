from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.state import Failure, FailureClass, Guards, PatchJournal, Proposal
from perdure.state.changes import Change, apply_changes, diff, same
from perdure.state.journal import state_hash
from perdure.state.patch import PatchMode
from perdure.state.paths import lookup
from tests.state.places import after, propose, refused, reply, runtime
from tests.state.test_merge import OBJECTS, VALUES

PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "inventory": st.dictionaries(st.sampled_from("abcd"), st.none() | st.sampled_from("xyz")),
        "inbound": st.lists(st.sampled_from("pq")),
        "log": st.lists(st.sampled_from("rs"), max_size=2),
        "orders": st.lists(
            st.fixed_dictionaries({"id": st.integers(1, 4), "item": st.sampled_from("uv")}), max_size=3
        ),
        "stock": st.integers(0, 3) | st.just("bad"),
        "note": st.none() | st.text(max_size=3),
    },
)


@given(OBJECTS, OBJECTS)
def test_changes_turn_one_state_into_the_other_also_through_json(old: Any, new: Any) -> None:
    changes = [Change.decode(json.loads(json.dumps(change.encode()))) for change in diff(old, new)]
    assert same(apply_changes(old, changes), new)
    assert state_hash(apply_changes(old, changes)) == state_hash(new)


ITEMS = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 5) | st.sampled_from("ab"), "v": st.integers(0, 2)}),
    max_size=5,
)


@given(ITEMS, ITEMS)
def test_changes_of_lists_with_ids(old: Any, new: Any) -> None:
    changes = diff({"items": old}, {"items": new})
    assert same(apply_changes({"items": old}, changes), {"items": new})


def test_items_with_ids_are_changed_one_by_one() -> None:
    old = [{"id": 1, "v": 1}, {"id": 2, "v": 2}]
    new = [{"id": 2, "v": 3}, {"id": 7, "v": 7}]
    kinds = [(change.kind, change.path) for change in diff({"items": old}, {"items": new})]
    assert kinds == [("delete", ("items", "1")), ("set", ("items", "2", "v")), ("append", ("items",))]


@given(st.lists(st.tuples(PATCHES, st.booleans()), max_size=8))
def test_every_state_is_rebuilt_and_every_field_knows_its_step(steps: list[tuple[Any, bool]]) -> None:
    off = Guards(max_deletions=None, named_deletions=False, max_shrink=None)
    world = runtime({"inventory": {"a": "first"}}, guards=off)
    states = {0: json.loads(world.state_text)}
    values: dict[Any, list[Any]] = {}
    for step, (patch, accepted) in enumerate(steps, 1):
        before = world.state_text
        proposal = propose(world, reply(patch), step=step)
        assert world.state_text == before, "a proposal changes nothing"
        world.settle(step=step, accepted=accepted)
        if isinstance(proposal, Failure) or not accepted:
            assert world.state_text == before
        states[step] = json.loads(world.state_text)
    journal = PatchJournal.from_trace(json.loads(json.dumps(world.trace())))
    for step, state in states.items():
        assert same(journal.state_at(step), state)
    assert same(journal.last_state(), states[len(steps)])
    for path, step in journal.provenance().items():
        values[path] = [lookup(states[step], path), lookup(states[len(steps)], path)]
        assert same(*values[path]), f"{path} has the value that step {step} gave it"
    assert journal.provenance() == world.journal.provenance()


ANY_PATCH = st.dictionaries(
    st.sampled_from(["inventory", "inbound", "log", "orders", "stock", "note", "other", "$replace"]), VALUES
)


@given(ANY_PATCH, st.sampled_from(["merge", "rewrite"]))
def test_any_patch_is_a_proposal_or_a_classified_failure_and_touches_nothing(
    patch: Any, mode: PatchMode
) -> None:
    world = runtime({"inventory": {"a": "x"}, "orders": [{"id": 1, "item": "u"}]}, patch_mode=mode)
    before, initial = world.state_text, json.dumps(world.journal.initial)
    outcome = propose(world, reply(patch), "a b c")
    assert (world.state_text, json.dumps(world.journal.initial)) == (before, initial)
    if isinstance(outcome, Proposal):
        assert same(world.schema.complete(outcome.state), outcome.state), "what is proposed is valid"
        assert same(apply_changes(dict(world.state), outcome.changes), outcome.state)


def test_the_last_step_that_wrote_a_field_is_named_with_its_patch() -> None:
    world = runtime()
    after(world, {"inventory": {"a": "1", "b": "1"}}, step=1)
    after(world, {"inventory": {"a": "2"}}, step=2)
    after(world, {"stock": 4}, step=3)
    after(world, {"inventory": {"b": None}}, "b is gone", step=4)
    journal = world.journal
    assert journal.provenance()[("inventory", "a")] == 2
    assert journal.provenance()[("stock",)] == 3
    assert [entry.step for entry in journal.history(("inventory", "b"))] == [4, 1]
    assert [entry.step for entry in journal.history(("inventory",))] == [4, 2, 1]
    assert journal.history(("inventory", "a"))[0].patch == {"inventory": {"a": "2"}}


def test_an_appended_item_with_an_id_leaves_the_others_their_step() -> None:
    world = runtime(patch_mode="ops")
    for step, id_ in enumerate((17, 18), 1):
        after(world, [{"op": "append", "path": "/orders", "value": {"id": id_, "item": "a"}}], step=step)
    after(world, [{"op": "set", "path": "/orders/17/open", "value": False}], step=3)
    origin = world.journal.provenance()
    assert origin[("orders", "17", "item")] == 1
    assert origin[("orders", "17", "open")] == 3
    assert origin[("orders", "18", "item")] == 2


def test_fields_are_found_by_pointer_or_by_dots_that_fit_one_field() -> None:
    world = runtime({"inventory": {"a.b": "1"}})
    after(world, {"inventory": {"c/d": "1"}})
    journal = world.journal
    assert journal.find("/inventory/a.b") == journal.find("inventory.a.b") == ("inventory", "a.b")
    assert journal.find("/inventory/c~1d") == journal.find("inventory.c/d") == ("inventory", "c/d")
    assert journal.find("") == ()
    with pytest.raises(ValueError, match="choose one of: /inbound"):
        journal.find("/nowhere")


def test_dots_that_fit_two_fields_are_ambiguous() -> None:
    journal = PatchJournal({"a": {"b.c": 1}, "a.b": {"c": 2}})
    with pytest.raises(ValueError, match=r"ambiguous; choose one of: /a/b\.c, /a\.b/c"):
        journal.find("a.b.c")


def test_a_refused_action_differs_between_paper_and_on_accept() -> None:
    for mode, stored in (("paper", {"shelf_1": "bolt"}), ("on_accept", {})):
        world = runtime(commit=mode)
        before = world.state_text
        propose(world, reply({"inventory": {"shelf_1": "bolt"}}, "Store bolt shelf_1"))
        world.settle(step=1, accepted=False, reason="shelf_1 is taken")
        assert world.state["inventory"] == stored
        assert (world.state_text == before) == (mode == "on_accept")
        entry = world.journal.entries[0]
        assert (entry.accepted, entry.committed) == (False, mode == "paper")
        assert same(world.journal.last_state(), dict(world.state))
        assert world.trace()["counts"]["semantic"] == 1


def test_a_patch_for_another_state_is_refused() -> None:
    world = runtime()
    base = world.hash
    text = reply({"stock": 1})
    assert isinstance(world.propose(text, step=1, observation="", base_hash=base), Proposal)
    world.settle(step=1, accepted=True)
    failure = world.propose(reply({"stock": 2}), step=2, observation="", base_hash=base)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.code) == (FailureClass.OVERWRITE, "base_hash")
    assert world.state["stock"] == 1


def test_a_state_that_grows_too_large_is_refused() -> None:
    world = runtime()
    failure = refused(world, reply({"note": "x" * 250_000}))
    assert (failure.kind, failure.code) == (FailureClass.SCHEMA, "size")
    huge = runtime({"note": "x" * 10_000_000})
    assert refused(huge, reply({"stock": 1})).code == "size", "a state that was too large from the start"


@pytest.mark.parametrize("key", ["", "a\nb", "$x", "k" * 300])
def test_keys_that_would_break_the_prompt_are_refused(key: str) -> None:
    assert refused(runtime(), reply({"inventory": {key: "v"}})).code == "forbidden_key"


def test_keys_with_dots_and_slashes_are_keys() -> None:
    state = after(runtime(), {"inventory": {"a.b": "1", "a/b": "2", "~": "3"}})
    assert state["inventory"] == {"a.b": "1", "a/b": "2", "~": "3"}


def test_steps_of_a_journal_only_grow() -> None:
    world = runtime()
    after(world, {"stock": 1}, step=2)
    with pytest.raises(ValueError, match="step 2 comes after step 2"):
        after(world, {"stock": 2}, step=2)


def test_discarding_leaves_no_trace() -> None:
    world = runtime()
    before = world.state_text
    propose(world, reply({"stock": 1}))
    world.discard()
    assert world.settle(step=1, accepted=True) is None
    assert (world.state_text, world.journal.entries) == (before, ())
