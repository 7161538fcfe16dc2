from __future__ import annotations

import pytest
from hypothesis import given

from perdure.environments.knowledge_graph.conversion import (
    NotConvertible,
    check_actions,
    from_actions,
    to_actions,
)
from perdure.environments.knowledge_graph.ontology import load_ontology
from perdure.environments.knowledge_graph.programs import And, Count, Join, Program, Superlative
from perdure.environments.knowledge_graph.tasks import load_tasks
from tests.environments.knowledge_graph.graphs import DATA, TOWN_ONTOLOGY, programs

LIFELONG = DATA / "lifelongagentbench" / "knowledge_graph.json"
ONTOLOGY = DATA / "shared" / "agentbench_kg_ontology"


def forward(program: Program) -> Program:
    match program:
        case Join(relation, inner):
            return Join(relation, forward(inner))
        case And(left, right):
            return And(forward(left), forward(right))
        case Count(inner):
            return Count(forward(inner))
        case Superlative(kind, inner, attribute):
            return Superlative(kind, forward(inner), attribute)
    return program


@given(programs)
def test_an_s_expression_survives_its_actions(program: Program) -> None:
    text = str(forward(program))
    assert from_actions(to_actions(text)) == text


@given(programs)
def test_actions_survive_their_s_expression(program: Program) -> None:
    actions = to_actions(str(forward(program)))
    assert to_actions(from_actions(actions)) == actions


def test_subprograms_come_first_and_lists_before_their_use() -> None:
    text = "(ARGMAX (AND (JOIN (R geo.river.towns) m.0a) (JOIN (R geo.river.towns) m.0b)) geo.town.people)"
    assert to_actions(text) == [
        "get_relations(m.0a)",
        "get_neighbors(m.0a,geo.river.towns)",
        "get_relations(m.0b)",
        "get_neighbors(m.0b,geo.river.towns)",
        "intersection(#0,#1)",
        "get_attributes(#2)",
        "argmax(#2,geo.town.people)",
    ]


def test_the_answer_class_is_stripped_and_relations_are_reversed() -> None:
    text = "(COUNT (AND geo.town (JOIN geo.town.river m.0aune)))"
    assert to_actions(text, TOWN_ONTOLOGY) == [
        "get_relations(m.0aune)",
        "get_neighbors(m.0aune,geo.river.towns)",
        "count(#0)",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(JOIN geo.town.mayor m.0)", "irreversible"),
        ("(lt geo.town.people 12)", "unreadable"),
        ("(ARGMAX geo.town geo.town.people)", "class"),
        ("(JOIN (R geo.river.towns) (AND geo.river (JOIN (R geo.town.river) m.0)))", "class"),
        ("(JOIN (R geo.river.towns) (COUNT (JOIN (R geo.town.river) m.0)))", "result"),
    ],
)
def test_what_has_no_actions_says_why(text: str, reason: str) -> None:
    with pytest.raises(NotConvertible) as caught:
        to_actions(text, TOWN_ONTOLOGY)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (["get_relations(m.0)"], "sequence"),
        (["count(#0)"], "sequence"),
        (["jump(m.0)"], "sequence"),
        (["get_neighbors(m.0,geo.river.towns)"], "sequence"),
        (["get_relations(m.0)", "get_neighbors(m.0,geo.river.fish)"], "vocabulary"),
        (["get_relations(m.0)", "get_neighbors(m.0,geo.town.mayor)"], "vocabulary"),
        (
            [
                "get_relations(m.0)",
                "get_neighbors(m.0,geo.river.towns)",
                "get_attributes(#0)",
                "argmax(#0,geo.town.area)",
            ],
            "vocabulary",
        ),
        (
            [
                "get_relations(m.0)",
                "get_neighbors(m.0,geo.river.towns)",
                "get_neighbors(m.0,geo.town.river)",
                "intersection(#0,#1)",
            ],
            "type",
        ),
    ],
)
def test_actions_that_the_environment_would_refuse(actions: list[str], reason: str) -> None:
    with pytest.raises(NotConvertible) as caught:
        check_actions(actions, TOWN_ONTOLOGY)
    assert caught.value.reason == reason


@pytest.mark.skipif(not (LIFELONG.exists() and ONTOLOGY.exists()), reason="published data is not here")
def test_every_published_entry_converts_both_ways_and_validates() -> None:
    ontology, tasks = load_ontology(ONTOLOGY), load_tasks(LIFELONG)
    for task in tasks.values():
        assert to_actions(task.s_expression, ontology) == list(task.actions), task.id
        assert from_actions(task.actions) == task.s_expression, task.id
        check_actions(task.actions, ontology)


@pytest.mark.parametrize("name", ["dev", "std", "kg_rl_all"])
def test_published_agentbench_actions_follow_from_their_s_expressions(name: str) -> None:
    path = DATA / "agentbench" / "knowledgegraph" / f"{name}.json"
    if not (path.exists() and ONTOLOGY.exists()):
        pytest.skip("published data is not here")
    ontology = load_ontology(ONTOLOGY)
    for task in load_tasks(path).values():
        published = [action.replace(", ", ",") for action in task.actions]
        assert to_actions(task.s_expression, ontology) == published, task.id
