from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from perdure.environments.knowledge_graph.ontology import (
    NODE,
    VALUE,
    derive_ontology,
    load_ontology,
)
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.tasks import load_tasks
from tests.environments.knowledge_graph.graphs import DATA, TOWN_TASK, TOWNS

AGENTBENCH_TASK = {
    "question": "Which towns lie on the Aune?",
    "entities": {"Aune": "m.0aune"},
    "s_expression": "(AND geo.town (JOIN geo.town.river m.0aune))",
    "actions": ["get_relations(m.0aune)", "get_neighbors(m.0aune,geo.river.towns)"],
    "answer": [
        {"answer_type": "Entity", "answer_argument": "m.0dale", "entity_name": "Dale"},
        {"answer_argument": "m.0elm"},
    ],
}


def write(folder: Path, content: Any) -> Path:
    path = folder / "tasks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_the_two_published_forms_and_texts_of_python_literals(tmp_path: Path) -> None:
    plain = load_tasks(write(tmp_path, {"7": TOWN_TASK}))["7"]
    quoted = {key: value if isinstance(value, str) else repr(value) for key, value in TOWN_TASK.items()}
    assert load_tasks(write(tmp_path, {"7": quoted}))["7"] == plain
    assert plain.entities == {"Aune, the river": "m.0aune", "Wend": "m.0wend"}
    assert plain.skills == ("get_relations", "get_neighbors", "intersection")
    assert plain.answers == {"m.0dale"}
    assert not plain.keep_topic
    other = load_tasks(write(tmp_path, [AGENTBENCH_TASK, AGENTBENCH_TASK]))
    assert list(other) == ["0", "1"]
    assert other["1"].answers == {"m.0dale", "m.0elm"}
    assert other["1"].skills == ("get_relations", "get_neighbors")


def test_numbers_are_answers_as_texts(tmp_path: Path) -> None:
    assert load_tasks(write(tmp_path, {"0": {**TOWN_TASK, "answer_list": [45]}}))["0"].answers == {"45"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "tasks.json: not JSON"),
        ([], "expected an object or a list of tasks"),
        ("3", "expected an object or a list of tasks"),
        ({"4": {**TOWN_TASK, "action_list": []}}, "entry '4': ValueError: no actions"),
        ({"4": {**TOWN_TASK, "action_list": ["jump(#0)"]}}, "entry '4': ValueError: unknown actions"),
        ({"4": {**TOWN_TASK, "answer_list": "__import__('os')"}}, "entry '4': ValueError"),
        ({"4": {**TOWN_TASK, "answer_list": "["}}, "entry '4': SyntaxError"),
        ({"4": {"action_list": ["count(#0)"]}}, "entry '4': KeyError"),
        ({"4": 3}, "entry '4': TypeError"),
    ],
)
def test_an_entry_that_is_no_task_is_named(tmp_path: Path, content: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f".*{told}"):
        load_tasks(write(tmp_path, content))


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("lifelongagentbench/knowledge_graph.json", 186),
        ("agentbench/knowledgegraph/dev.json", 10),
        ("agentbench/knowledgegraph/std.json", 77),
        ("agentbench/knowledgegraph/kg_rl_all.json", 611),
    ],
)
def test_published_files_load(path: str, count: int) -> None:
    if not (DATA / path).exists():
        pytest.skip("published data is not here")
    tasks = load_tasks(DATA / path)
    assert len(tasks) == count
    assert all(task.answers and task.entities and task.goal for task in tasks.values())


def test_an_ontology_is_read_packed_or_plain(tmp_path: Path) -> None:
    vocabulary = {"relations": ["a.b.c"], "attributes": ["a.b.size"]}
    (tmp_path / "vocab.json.gz").write_bytes(gzip.compress(json.dumps(vocabulary).encode()))
    (tmp_path / "fb_roles").write_text("a.b a.b.c d.e\na.b a.b.x d.f a.b a.b.y\nbroken line\n", "utf-8")
    ontology = load_ontology(tmp_path)
    assert ontology.relations == {"a.b.c"}
    assert ontology.attributes == {"a.b.size"}
    assert ontology.ranges == {"a.b.c": "d.e", "a.b.x": "d.f"}
    assert ontology.inverses == {}
    (tmp_path / "reverse_properties").write_text("a.b.c\td.e.f\n", "utf-8")
    assert load_ontology(tmp_path).inverses == {"a.b.c": "d.e.f"}


def test_an_ontology_that_lacks_a_file_says_which(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"relations": [], "attributes": []}', "utf-8")
    with pytest.raises(FileNotFoundError, match=r"roles\.txt or fb_roles"):
        load_ontology(tmp_path)


def test_an_ontology_follows_from_a_graph(tmp_path: Path) -> None:
    (tmp_path / "towns.tsv").write_text(TOWNS, "utf-8")
    ontology = derive_ontology(OxigraphStore(tmp_path / "towns.tsv").predicates())
    assert ontology.attributes == {"geo.town.people", "geo.town.founded"}
    assert ontology.relations >= ontology.attributes | {"geo.town.river", "geo.town.mayor"}
    assert ontology.ranges["geo.town.river"] == NODE
    assert ontology.ranges["geo.town.people"] == VALUE


@pytest.mark.skipif(
    not (DATA / "shared/agentbench_kg_ontology").is_dir(), reason="published data is not here"
)
def test_the_published_ontology_covers_its_vocabulary() -> None:
    ontology = load_ontology(DATA / "shared/agentbench_kg_ontology")
    assert len(ontology.relations) == 13_100
    assert len(ontology.attributes) == 3_384
    assert ontology.relations <= set(ontology.ranges)
    assert len(ontology.inverses) == 9_907
