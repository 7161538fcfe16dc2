"""Every observation the environment gives: what each action tells, and what each mistake costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.core.types import EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.environments.knowledge_graph.environment import KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.interpreter import (
    LARGEST_PROGRAM,
    Interpreter,
    Refused,
)
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from tests.environments.knowledge_graph.graphs import TOWN_ONTOLOGY, play, write_towns


def act(environment: KnowledgeGraphEnvironment, *actions: str) -> Observation:
    """The last observation."""
    return [environment.interact(f"Action: {action}") for action in actions][-1]


ON_AUNE = ("get_relations(Aune, the river)", "get_neighbors(Aune, the river, geo.river.towns)")
ON_WEND = ("get_relations(Wend)", "get_neighbors(Wend, geo.river.towns)")


def test_an_opening_names_the_question_and_its_entities(tmp_path: Path) -> None:
    opening = KnowledgeGraphEnvironment(**write_towns(tmp_path)).reset(Trial("7"))
    assert opening.goal == "Which town lies on both the Aune and the Wend?"
    assert opening.observation.text == "Entities: ['Aune, the river', 'Wend']"
    assert opening.history[-1].text == f"{opening.goal}\n{opening.observation.text}"


def test_what_each_action_tells(towns: KnowledgeGraphEnvironment) -> None:
    told = [
        act(towns, action).text
        for action in (
            *ON_AUNE,
            "get_relations(m.0wend)",
            "get_neighbors(m.0wend, geo.river.towns)",
            "intersection(#0, variable #1)",
            "get_relations(#2)",
            "get_neighbors(var #2, geo.town.river)",
            "get_attributes(#0)",
            "argmax(#0, geo.town.people)",
            "argmin(#0, geo.town.people)",
            "count(#0)",
        )
    ]
    assert told == [
        "get_relations(Aune, the river): [geo.river.towns]",
        "get_neighbors(Aune, the river, geo.river.towns): variable #0, entities of type geo.town",
        "get_relations(m.0wend): [geo.river.towns]",
        "get_neighbors(m.0wend, geo.river.towns): variable #1, entities of type geo.town",
        "intersection(#0, variable #1): variable #2, entities of type geo.town",
        "get_relations(#2): [geo.town.river]",
        "get_neighbors(var #2, geo.town.river): variable #3, entities of type geo.river",
        "get_attributes(#0): [geo.town.founded, geo.town.people]",
        "argmax(#0, geo.town.people): variable #4, entities of type geo.town",
        "argmin(#0, geo.town.people): variable #5, entities of type geo.town",
        "count(#0): variable #6, a number",
    ]


@pytest.mark.parametrize(
    ("index", "answer"),
    [(0, "m.0dale<SEP>m.0elm"), (2, "m.0dale"), (3, ""), (4, "m.0dale"), (5, "m.0elm"), (6, "2")],
)
def test_any_variable_can_be_the_answer(towns: KnowledgeGraphEnvironment, index: int, answer: str) -> None:
    act(towns, *ON_AUNE, *ON_WEND, "intersection(#0,#1)")
    act(towns, "get_relations(#2)", "get_neighbors(#2,geo.town.river)", "get_attributes(#0)")
    act(towns, "argmax(#0,geo.town.people)", "argmin(#0,geo.town.people)", "count(#0)")
    final = towns.interact(f"Final Answer: #{index}")
    assert final == Observation("", done=True, reason=f"answered with #{index}: {answer}")
    evaluation = towns.complete()
    right = answer == "m.0dale"
    assert evaluation.outcome is (EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT)
    assert evaluation.detail["executable_flag"] is True


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (["jump(#0)"], "Unknown action jump: use one of get_relations, get_neighbors,"),
        (["get_relations()"], "get_relations takes 1 argument, not 0."),
        (["get_relations(Wend, Wend)"], "get_relations takes 1 argument, not 2."),
        (["intersection(#0)"], "intersection takes 2 arguments, not 1."),
        (["get_relations(Elbe)"], "Elbe is neither an entity of this question nor a variable such as #0."),
        (["get_relations(#0)"], "There is no variable #0; the variables are: none yet."),
        ([*ON_AUNE, "get_relations(#1)"], "There is no variable #1; the variables are: #0."),
        ([*ON_AUNE, "get_relations(#-1)"], "There is no variable #-1; the variables are: #0."),
        (["get_relations(#99999999999)"], "There is no variable #1000000000;"),
        (["get_neighbors(Wend, geo.river.towns)"], "Call get_relations(Wend) before get_neighbors"),
        ([*ON_AUNE, "get_neighbors(#0, geo.town.river)"], "Call get_relations(#0) before get_neighbors"),
        (
            ["get_relations(Wend)", "get_neighbors(Wend, geo.river.fish)"],
            "geo.river.fish is not a relation of Wend that get_relations listed.",
        ),
        ([*ON_AUNE, "intersection(#0, Wend)"], "intersection takes a variable such as #0, not Wend."),
        ([*ON_AUNE, "count(Wend)"], "count takes a variable such as #0, not Wend."),
        (["get_attributes(Wend)"], "get_attributes takes a variable such as #0, not Wend."),
        ([*ON_AUNE, "argmax(#0, geo.town.people)"], "Call get_attributes(#0) before argmax"),
        (
            [*ON_AUNE, "get_attributes(#0)", "argmin(#0, geo.town.area)"],
            "geo.town.area is not an attribute of #0 that get_attributes listed.",
        ),
        (
            [*ON_AUNE, "get_relations(#0)", "get_neighbors(#0, geo.town.river)", "intersection(#0, #1)"],
            "intersection needs two variables of one type, but #0 is of type geo.town and #1 of",
        ),
        ([*ON_AUNE, "count(#0)", "count(#1)"], "#1 is a result: it can only be the final answer."),
        ([*ON_AUNE, "count(#0)", "get_relations(#1)"], "#1 is a result: it can only be the final answer."),
        (
            [*ON_AUNE, "get_attributes(#0)", "argmax(#0, geo.town.people)", "intersection(#1, #0)"],
            "#1 is a result: it can only be the final answer.",
        ),
    ],
)
def test_a_mistake_is_an_observation(towns: KnowledgeGraphEnvironment, actions: list[str], told: str) -> None:
    observation = act(towns, *actions)
    assert observation.text.startswith(told)
    assert observation == Observation(observation.text, accepted=False)


@pytest.mark.parametrize("answer", ["#0", "variable #3", "#99999999999999999999"])
def test_an_answer_that_is_not_there_is_a_mistake_too(towns: KnowledgeGraphEnvironment, answer: str) -> None:
    observation = towns.interact(f"Final Answer: {answer}")
    assert "There is no variable #" in observation.text
    assert not observation.accepted
    assert not observation.done


def test_a_mistake_changes_nothing(towns: KnowledgeGraphEnvironment) -> None:
    act(towns, *ON_AUNE, "count(#5)", "get_relations(Elbe)", *ON_WEND)
    assert act(towns, "intersection(#0,#1)").text.endswith("variable #2, entities of type geo.town")


def test_arguments_are_repeated_in_part(towns: KnowledgeGraphEnvironment) -> None:
    observation = act(towns, f"get_relations({'x' * 100_000})")
    assert len(observation.text) < 500
    assert "(100000 characters)" in observation.text


def test_lists_are_never_cut(tmp_path: Path) -> None:
    relations = sorted(f"w.thing.relation_{i:04}" for i in range(3000))
    files = write_towns(tmp_path)
    files["graph"].write_text("".join(f"m.0aune\t{name}\tm.0x\n" for name in relations), "utf-8")
    environment = KnowledgeGraphEnvironment(tasks=files["tasks"], graph=files["graph"])
    environment.reset(Trial("7"))
    assert act(environment, "get_relations(Wend)").text == "get_relations(Wend): []"
    assert (
        act(environment, "get_relations(m.0aune)").text == f"get_relations(m.0aune): [{', '.join(relations)}]"
    )


def test_a_reply_without_an_action_costs_a_round(towns: KnowledgeGraphEnvironment) -> None:
    observation = towns.interact("I think it is the Aune.")
    assert observation.text.startswith("No action found.")
    assert (observation.accepted, observation.done) == (False, False)


def test_compat_ends_the_task_there_and_wraps_negative_indices(tmp_path: Path) -> None:
    files = write_towns(tmp_path)
    environment = KnowledgeGraphEnvironment(**files, compat="paper")
    environment.reset(Trial("7"))
    assert act(environment, *ON_AUNE, "count(#-1)").text == "count(#-1): variable #1, a number"
    observation = environment.interact("I think it is the Aune.")
    assert observation.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert observation.done
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT
    lenient = KnowledgeGraphEnvironment(**files, compat="paper", on_invalid_action="observe")
    lenient.reset(Trial("7"))
    assert not lenient.interact("I think it is the Aune.").done


def test_giving_up_ends_the_task(towns: KnowledgeGraphEnvironment) -> None:
    assert towns.interact("Final Answer: none").done
    assert towns.complete().detail == {"f1_score": 0.0, "executable_flag": False}


def test_a_relation_whose_range_is_unknown_is_an_error_of_the_task(towns: KnowledgeGraphEnvironment) -> None:
    observation = act(towns, "get_relations(m.0elm)", "get_neighbors(m.0elm, geo.town.mayor)")
    assert observation.status is SessionStatus.TASK_ENVIRONMENT_ERROR
    assert observation.reason == "the ontology does not say what geo.town.mayor leads to"


def test_a_query_that_takes_too_long(tmp_path: Path) -> None:
    environment = KnowledgeGraphEnvironment(**write_towns(tmp_path), timeout_seconds=-1.0)
    environment.reset(Trial("7"))
    observation = act(environment, "get_relations(Wend)")
    assert observation == Observation(
        "The action was not carried out: the query took too long.", accepted=False
    )


def test_an_answer_that_cannot_be_executed_ends_the_task(tmp_path: Path) -> None:
    environment = KnowledgeGraphEnvironment(**write_towns(tmp_path))
    environment.reset(Trial("7"))
    act(environment, *ON_AUNE)
    environment._store._timeout = -1.0  # type: ignore[attr-defined]
    observation = environment.interact("Final Answer: #0")
    assert observation.done
    assert observation.reason == "the answer could not be executed: the query took too long"
    assert environment.complete().detail == {"f1_score": 0.0, "executable_flag": False}


def test_programs_are_bounded(tmp_path: Path) -> None:
    files = write_towns(tmp_path)
    interpreter = Interpreter(OxigraphStore(files["graph"]), TOWN_ONTOLOGY, {})
    play(interpreter, "get_relations(m.0aune)", "get_neighbors(m.0aune,geo.river.towns)")
    doublings = [f"intersection(#{last},#{last})" for last in range(20)]
    with pytest.raises(Refused, match=f"more than {LARGEST_PROGRAM} steps"):
        play(interpreter, *doublings)
    assert interpreter.answer(len(interpreter.variables) - 1) == {"m.0dale", "m.0elm"}
