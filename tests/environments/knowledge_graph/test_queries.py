from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.environments.knowledge_graph.literals import guess_datatype
from perdure.environments.knowledge_graph.names import Names
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import (
    Count,
    Entity,
    Program,
    Superlative,
    entities_of,
    parse_program,
)
from perdure.environments.knowledge_graph.queries import PREDICATES, relations_query, values_query
from tests.environments.knowledge_graph.graphs import ATTRIBUTES, RELATIONS, programs, triples

NAMES = Names()


def reference(rows: list[tuple[str, str, str]]) -> pyoxigraph.Store:
    """The same triples, for a SPARQL engine."""
    store = pyoxigraph.Store()
    for subject, relation, value in rows:
        datatype = guess_datatype(value)
        object_ = (
            pyoxigraph.NamedNode(NAMES.iri(value))
            if datatype is None
            else pyoxigraph.Literal(value, datatype=pyoxigraph.NamedNode(datatype))
        )
        nodes = (pyoxigraph.NamedNode(NAMES.iri(subject)), pyoxigraph.NamedNode(NAMES.iri(relation)))
        store.add(pyoxigraph.Quad(*nodes, object_))
    return store


def column(store: pyoxigraph.Store, query: str) -> set[str]:
    found = set()
    for row in store.query(query):  # type: ignore[union-attr]
        term = row[0]
        is_node = isinstance(term, pyoxigraph.NamedNode)
        found.add(NAMES.identifier(term.value) if is_node else term.value)
    return found


@settings(max_examples=200)
@given(triples, programs, st.booleans())
def test_sets_and_sparql_agree(rows: list[tuple[str, str, str]], program: Program, without: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.tsv"
        path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
        store = OxigraphStore(path)
    engine = reference(rows)
    excluded = entities_of(program) if without else frozenset()
    assert store.values(program, excluded) == column(engine, values_query(program, NAMES, excluded))
    members = program.inner if isinstance(program, Count | Superlative) else program
    assert store.relations(members, excluded) == column(engine, relations_query(members, NAMES, excluded))
    kinds = {(NAMES.identifier(p.value), kind.value) for p, kind in engine.query(PREDICATES)}  # type: ignore[union-attr]
    assert set(store.predicates()) == kinds


@given(programs)
def test_iris_are_written_in_full(program: Program) -> None:
    query = values_query(program, NAMES, entities_of(program))
    outside = re.sub(r"<[^>]*>", "", query)
    for name in (*RELATIONS, *ATTRIBUTES):
        assert name not in outside
    assert "PREFIX" not in query


def test_counting_is_standard_but_for_virtuoso() -> None:
    program = parse_program("(COUNT (JOIN (R a.b.c) m.0))")
    assert "SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE" in values_query(program, NAMES)
    assert "SELECT COUNT DISTINCT ?x WHERE" in values_query(program, NAMES, dialect="virtuoso")


def test_a_relation_cannot_leave_its_iri() -> None:
    program = parse_program('(JOIN (R "a> ?x . ?s ?p ?o } #") m.0)')
    query = values_query(program, NAMES)
    assert "<http://rdf.freebase.com/ns/a%3E%20?x%20.%20?s%20?p%20?o%20%7D%20#>" in query


def test_an_entity_has_relations_by_its_own_triples() -> None:
    query = relations_query(Entity("m.0"), NAMES, {"m.0"})
    assert query == "SELECT DISTINCT ?p WHERE { <http://rdf.freebase.com/ns/m.0> ?p ?o }"


@pytest.mark.parametrize(
    "text", ["(COUNT (COUNT (JOIN (R a) m.0)))", "(JOIN (R a) (ARGMAX (JOIN (R a) m.0) b))"]
)
def test_a_result_is_not_part_of_a_query(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be part"):
        values_query(parse_program(text), NAMES)
