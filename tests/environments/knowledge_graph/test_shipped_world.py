from __future__ import annotations

from collections import Counter

from perdure.environments.knowledge_graph.actions import ARITY
from perdure.environments.knowledge_graph.conversion import check_actions, from_actions, to_actions
from perdure.environments.knowledge_graph.ontology import load_ontology
from perdure.environments.knowledge_graph.tasks import load_tasks
from perdure.environments.knowledge_graph.triple_files import read_columns
from perdure.environments.knowledge_graph.world import SHIPPED_GRAPH, SHIPPED_ONTOLOGY, SHIPPED_TASKS
from perdure.pipelines.knowledge_graph.tasks import differences
from perdure.pipelines.knowledge_graph.world import make_world

TASKS = load_tasks(SHIPPED_TASKS)
ONTOLOGY = load_ontology(SHIPPED_ONTOLOGY)


def test_every_file_is_made_again_byte_for_byte() -> None:
    assert differences(SHIPPED_TASKS.parent, seed=0) == []


def test_another_seed_makes_another_world() -> None:
    assert make_world(1).triples != make_world(0).triples
    assert make_world(1).triples == make_world(1).triples


def test_questions_enough_and_ten_an_action() -> None:
    counts = Counter(skill for task in TASKS.values() for skill in task.skills)
    assert len(TASKS) >= 70
    assert min(counts[name] for name in ARITY) >= 10
    assert len({task.goal for task in TASKS.values()}) == len(TASKS)


def test_every_question_converts_both_ways_and_validates() -> None:
    for task in TASKS.values():
        assert to_actions(task.s_expression, ONTOLOGY) == list(task.actions)
        assert from_actions(task.actions) == task.s_expression
        check_actions(task.actions, ONTOLOGY)
        assert all(name in task.goal for name in task.entities)


def test_the_graph_keeps_to_its_ontology() -> None:
    types = {
        line.split("\t")[0]: line.split("\t")[1]
        for line in (SHIPPED_TASKS.parent / "names.tsv").read_text("utf-8").splitlines()
    }
    triples = set(read_columns(SHIPPED_GRAPH))
    edges = {(subject, relation, object_) for subject, relation, object_, _ in triples}
    for subject, relation, object_, datatype in triples:
        if datatype is None:
            assert relation in ONTOLOGY.relations
            assert types[object_] == ONTOLOGY.ranges[relation]
            assert (object_, ONTOLOGY.inverses[relation], subject) in edges
        else:
            assert relation in ONTOLOGY.attributes
        assert subject in types
    assert {relation for _, relation, _, _ in triples} == ONTOLOGY.relations | ONTOLOGY.attributes
