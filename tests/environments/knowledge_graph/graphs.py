"""Graphs, programs and tasks for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from perdure.environments.knowledge_graph.actions import Call, parse_action
from perdure.environments.knowledge_graph.interpreter import Interpreter
from perdure.environments.knowledge_graph.ontology import Ontology
from perdure.environments.knowledge_graph.programs import (
    And,
    Count,
    Entity,
    Join,
    Program,
    Superlative,
)

DATA = Path(__file__).parents[4] / "shared" / "data"

TOWNS = """\
m.0dale\tgeo.town.river\tm.0aune
m.0dale\tgeo.town.river\tm.0wend
m.0elm\tgeo.town.river\tm.0aune
m.0fenn\tgeo.town.river\tm.0wend
m.0aune\tgeo.river.towns\tm.0dale
m.0aune\tgeo.river.towns\tm.0elm
m.0wend\tgeo.river.towns\tm.0dale
m.0wend\tgeo.river.towns\tm.0fenn
m.0dale\tgeo.town.people\t1200
m.0elm\tgeo.town.people\t900
m.0fenn\tgeo.town.people\t1200
m.0dale\tgeo.town.founded\t1204-05-01
m.0elm\tgeo.town.founded\t0987-01-01
m.0elm\tgeo.town.mayor\tm.0ada
"""

TOWN_ONTOLOGY = Ontology(
    frozenset({"geo.town.river", "geo.river.towns", "geo.town.mayor"}),
    frozenset({"geo.town.people", "geo.town.founded"}),
    {"geo.town.river": "geo.river", "geo.river.towns": "geo.town"},
    {"geo.town.river": "geo.river.towns", "geo.river.towns": "geo.town.river"},
)
"""`geo.town.mayor` is listed without a range, as a broken ontology may have it."""

TOWN_TASK: dict[str, Any] = {
    "question": "Which town lies on both the Aune and the Wend?",
    "entity_dict": {"Aune, the river": "m.0aune", "Wend": "m.0wend"},
    "s_expression": "(AND (JOIN (R geo.river.towns) m.0aune) (JOIN (R geo.river.towns) m.0wend))",
    "action_list": [
        "get_relations(m.0aune)",
        "get_neighbors(m.0aune,geo.river.towns)",
        "get_relations(m.0wend)",
        "get_neighbors(m.0wend,geo.river.towns)",
        "intersection(#0,#1)",
    ],
    "answer_list": ["m.0dale"],
}


def write_towns(folder: Path) -> dict[str, Any]:
    """Graph, tasks and ontology in files, by the names of the environment's parameters."""
    (folder / "towns.tsv").write_text(TOWNS, "utf-8")
    (folder / "tasks.json").write_text(json.dumps({"7": TOWN_TASK}), "utf-8")
    ontology = folder / "ontology"
    ontology.mkdir()
    vocabulary = {
        "relations": sorted(TOWN_ONTOLOGY.relations),
        "attributes": sorted(TOWN_ONTOLOGY.attributes),
    }
    (ontology / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    roles = [f"geo.any {relation} {type_}" for relation, type_ in TOWN_ONTOLOGY.ranges.items()]
    (ontology / "roles.txt").write_text("\n".join(roles) + "\n", "utf-8")
    return {"tasks": folder / "tasks.json", "graph": folder / "towns.tsv", "ontology": ontology}


def play(interpreter: Interpreter, *actions: str) -> list[str]:
    """What the interpreter tells of each action."""
    told = []
    for action in actions:
        call = parse_action(f"Action: {action}")
        assert isinstance(call, Call)
        told.append(interpreter.run(call))
    return told


NODES = [f"m.0{letter}" for letter in "abcdef"]
RELATIONS = ["w.thing.r_a", "w.thing.r_b", "w.thing.r_c"]
ATTRIBUTES = ["w.thing.size", "w.thing.made"]

_edges = st.tuples(st.sampled_from(NODES), st.sampled_from(RELATIONS), st.sampled_from(NODES))
_sizes = st.tuples(st.sampled_from(NODES), st.just(ATTRIBUTES[0]), st.integers(-3, 12).map(str))
_dates = st.tuples(
    st.sampled_from(NODES),
    st.just(ATTRIBUTES[1]),
    st.sampled_from(["1987-04-12", "1990-01-01", "2004-11-30"]),
)
triples = st.lists(st.one_of(_edges, _edges, _sizes, _dates), min_size=1, max_size=40, unique=True)
"""Small random graphs as rows of a triple file."""


def sets(depth: int = 3) -> st.SearchStrategy[Program]:
    """Programs that stand for a set of nodes: hops in both directions and intersections."""
    leaves = st.builds(
        Join, st.sampled_from(RELATIONS), st.builds(Entity, st.sampled_from(NODES)), st.booleans()
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Join, st.sampled_from(RELATIONS), inner, st.booleans()), st.builds(And, inner, inner)
        ),
        max_leaves=depth,
    )


programs = st.one_of(
    sets(),
    st.builds(Count, sets()),
    st.builds(Superlative, st.sampled_from(["ARGMAX", "ARGMIN"]), sets(), st.sampled_from(ATTRIBUTES)),
)
"""Programs of every kind."""
