"""What every world tells: rules first, then forms and one example; nothing that never occurs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from perdure.core.environment import Environment
from perdure.core.types import Trial
from perdure.core.world import StateSupport, World
from perdure.environments.counter import WORLD as COUNTER
from perdure.environments.database import WORLD as DATABASE
from perdure.environments.knowledge_graph import WORLD as KNOWLEDGE_GRAPH
from perdure.environments.operating_system import actions as os_actions
from perdure.environments.operating_system import prompts as os_prompts
from perdure.environments.repository import WORLD as REPOSITORY
from perdure.environments.repository.actions import VERBS
from perdure.environments.warehouse import WORLD as WAREHOUSE
from perdure.environments.warehouse import WarehouseEnvironment
from perdure.environments.warehouse.state import ForesightedState
from perdure.state.action import TextActions
from perdure.state.patch import PatchPipeline
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import PatchRejected

MARK = "example:\n"
REPLY_MARKS = ("Action:", "Act:", "Final Answer:", "state_patch", "End your reply", "```")

Read = Callable[[str], str | None]


def played(world: World, **parameters: Any) -> tuple[str, str, Read]:
    """Instructions, reply form and reading of an environment."""
    environment: Environment = world.environment(**parameters)
    try:
        environment.reset(Trial(environment.task_ids()[0]))
        return environment.instructions, world.reply_form(environment), environment.read_action
    finally:
        environment.release()


def operating_system(takes_answers: bool) -> tuple[str, str, Read]:
    """The same without a machine."""
    told = os_prompts.instructions(
        shell="fresh",
        timeout=20,
        max_chars=4000,
        allowed=None,
        invalid="observe",
        max_interactions=5,
        takes_answers=takes_answers,
    )

    def read(text: str) -> str | None:
        found = os_actions.parse_action(text, takes_answers=takes_answers)
        return None if isinstance(found, os_actions.Invalid) else os_actions.action_key(found)

    return told, os_prompts.form_of_reply(takes_answers=takes_answers), read


WORLDS: dict[str, Callable[[], tuple[str, str, Read]]] = {
    "counter": lambda: played(COUNTER),
    "database": lambda: played(DATABASE),
    "database as published": lambda: played(DATABASE, compat="paper"),
    "knowledge graph": lambda: played(KNOWLEDGE_GRAPH),
    "operating system": lambda: operating_system(False),
    "operating system with questions": lambda: operating_system(True),
    "warehouse": lambda: played(WAREHOUSE),
    "warehouse with everything": lambda: played(WAREHOUSE, profile="dense", noise=5, tier="audit"),
    "warehouse with holds": lambda: played(WAREHOUSE, drift="D_prime"),
    "repository": lambda: played(REPOSITORY),
    "repository, main": lambda: played(REPOSITORY, verbs="main", noise=5),
    "repository, appendix": lambda: played(REPOSITORY, verbs="appendix"),
}


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_follows_the_one_example(name: str) -> None:
    told, form, read = WORLDS[name]()
    assert "example" not in told
    assert form.count(MARK) == 1
    example = form.partition(MARK)[2]
    action = read(example)
    assert action is not None, "the example is an action"
    # Not a line of it can be left out, so that no rule or second example stands below it.
    lines = example.splitlines()
    assert all(read("\n".join(lines[:count])) != action for count in range(len(lines)))


@pytest.mark.parametrize("name", WORLDS)
def test_instructions_tell_of_the_world_and_not_of_the_form_of_a_reply(name: str) -> None:
    told, _, read = WORLDS[name]()
    assert [mark for mark in REPLY_MARKS if mark in told] == []
    assert read(told) is None


@pytest.mark.parametrize("name", [name for name in WORLDS if "warehouse" in name or "repository" in name])
def test_no_placeholder_can_be_copied(name: str) -> None:
    told, form, _ = WORLDS[name]()
    assert re.findall(r"\b(ITEM|SHELF|OLD|NEW|BRANCH|FILE|COMMIT|LINE|TAG)\b", told + form) == []


@pytest.mark.parametrize("name", WORLDS)
def test_forms_come_after_rules(name: str) -> None:
    told, _, _ = WORLDS[name]()
    headings = [at for at in (told.find("The actions, each"), told.find("get_relations(x)")) if at >= 0]
    for at in headings:
        assert "Events and their answers" not in told[at:]
        assert "You have at most" not in told[at:]
        assert "refused" not in told[at:]


def test_the_warehouse_mentions_only_what_occurs() -> None:
    plain = WarehouseEnvironment().instructions
    for word in ("on hold", "reserved", "audit", "telemetry", "manifest", "alert", "information", "Answer "):
        assert word not in plain, word
    assert "on hold" in WarehouseEnvironment(drift="D_prime").instructions
    assert "alert" in WarehouseEnvironment(drift="A").instructions
    assert "reserved" in WarehouseEnvironment(tier="late").instructions
    assert "audit" in WarehouseEnvironment(tier="audit").instructions
    assert "Answer shelf_1" in WarehouseEnvironment(tier="audit").instructions
    assert "manifest" in WarehouseEnvironment(profile="dense").instructions
    assert "telemetry" in WarehouseEnvironment(noise=5).instructions
    assert "information" in WarehouseEnvironment(profile="growth").instructions


def test_the_knowledge_graph_does_not_advertise_giving_up() -> None:
    told, form, read = WORLDS["knowledge graph"]()
    assert "none" not in (told + form).lower()
    assert "give up" not in (told + form).lower()
    assert read("Final Answer: none") is not None, "it may still be done"


def refused(world: World, reply: str, **parameters: Any) -> str:
    environment = world.environment(**parameters)
    environment.reset(Trial(environment.task_ids()[0]))
    observation = environment.interact(reply)
    assert not observation.accepted
    return observation.text.splitlines()[0]


def test_refusals_name_the_form_of_the_verb_that_was_meant() -> None:
    assert (
        refused(WAREHOUSE, "Action: Move item_3 shelf_1")
        == "Result: refused, not a command, its form is `Move item_3 shelf_0 shelf_1`."
    )
    assert (
        refused(REPOSITORY, "Action: CherryPick issue_3 line_1")
        == "Result: refused, not a command, its form is `CherryPick c_4be71a line_2`."
    )


def test_refusals_name_every_form_of_this_configuration_otherwise() -> None:
    told = refused(WAREHOUSE, "Action: fly")
    assert told == (
        "Result: refused, not a command, the forms are `Store item_6 shelf_0`, `Ship item_3 shelf_1`, "
        "`Move item_3 shelf_0 shelf_1` and `Wait`."
    )
    assert "`Answer shelf_1`" in refused(WAREHOUSE, "Action: fly", tier="audit")
    assert "such as `Action: Store item_6 shelf_0`" in refused(WAREHOUSE, "no idea")
    for verbs in VERBS:
        told = refused(REPOSITORY, "Action: push", verbs=verbs)
        assert {verb for verb in VERBS["union"] if re.search(rf"`{verb}\b", told)} == set(VERBS[verbs])


def test_the_operating_system_names_both_forms() -> None:
    for reply in ("I think that it works now.", "Act: reboot"):
        found = os_actions.parse_action(reply)
        assert isinstance(found, os_actions.Invalid)
        assert "`Act: bash`" in found.message
        assert "`Act: finish`" in found.message


@pytest.mark.parametrize(
    ("world", "reply", "tolerated"),
    [
        (WAREHOUSE, "Action: Wait", 0),
        (WAREHOUSE, "Because of this.\nAction: Wait", 0),
        (WAREHOUSE, "Wait", 0),
        (WAREHOUSE, "Action: wait", 1),
        (WAREHOUSE, "action: Wait", 1),
        (WAREHOUSE, "Action: `Wait`", 1),
        (WAREHOUSE, "Action: Store item_1 SHELF_0", 1),
        (WAREHOUSE, "Action: fly", 0),
        (REPOSITORY, "Action: runtests MAIN", 1),
        (REPOSITORY, "Action: RunTests main", 0),
    ],
)
def test_letter_case_is_a_tolerance_that_is_counted(world: World, reply: str, tolerated: int) -> None:
    environment = world.environment()
    environment.reset(Trial(environment.task_ids()[0]))
    environment.interact(reply)
    assert environment.complete().detail["tolerated"] == tolerated


def support_of(world: World) -> StateSupport:
    assert world.state is not None
    return world.state(world.environment())


@pytest.mark.parametrize("world", [COUNTER, WAREHOUSE, REPOSITORY])
def test_the_worked_example_of_a_state_is_valid_there(world: World) -> None:
    support = support_of(world)
    schema = StateSchema(support.schema)
    (example,) = schema.json_schema["examples"]
    assert example
    assert schema.complete({**schema.initial, **example})
    quoted = re.findall("`([^`]+)`", support.action_form)
    assert len(quoted) == 1
    assert world.environment().read_action(quoted[0]) is not None


def rejection(schema: Any, patch: str) -> str:
    pipeline = PatchPipeline(StateSchema(schema), TextActions())
    with pytest.raises(PatchRejected) as caught:
        pipeline.propose(pipeline.schema.initial, f'{{"state_patch": {patch}, "action": "Wait"}}', "")
    return str(caught.value)


@pytest.mark.parametrize(
    ("world", "patch"),
    [
        (WAREHOUSE, '{"inventory": {"item_6": "shelf_0"}}'),
        (WAREHOUSE, '{"inventory": {"shelf_0": "shelf_0"}}'),
        (WAREHOUSE, '{"inbound": ["shelf_0"]}'),
        (WAREHOUSE, '{"inventory": {"ITEM": "SHELF"}}'),
        (REPOSITORY, '{"branches": {"c_12ab": "main"}}'),
        (REPOSITORY, '{"branches": {"main": "topic_3"}}'),
        (REPOSITORY, '{"commits": {"issue_3": {"issue": "issue_3"}}}'),
        (REPOSITORY, '{"prs": {"topic_3": {"branch": "topic_3"}}}'),
        (REPOSITORY, '{"prs": {"pr_3": {"branch": "pr_3"}}}'),
        (REPOSITORY, '{"ci": {"pr_3": {"status": "passed"}}}'),
    ],
)
def test_a_patch_that_turns_names_round_is_refused(world: World, patch: str) -> None:
    assert "pattern" in rejection(support_of(world).schema, patch)


def test_names_are_typed_by_pattern_in_the_foresighted_state_too() -> None:
    assert "pattern" in rejection(ForesightedState, '{"first_shelves": {"shelf_0": "item_6"}}')
    assert "pattern" in rejection(ForesightedState, '{"reserved": {"item_6": "customer_1"}}')


def test_the_schema_tells_keys_and_values_by_pattern() -> None:
    inventory = StateSchema(support_of(WAREHOUSE).schema).json_schema["properties"]["inventory"]
    assert inventory["propertyNames"] == {"pattern": "^shelf_[0-9]{1,6}$"}
    assert inventory["additionalProperties"]["pattern"] == "^item_[0-9]{1,6}$"
