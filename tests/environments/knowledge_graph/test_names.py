from __future__ import annotations

import re

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.knowledge_graph.literals import XSD, rank
from perdure.environments.knowledge_graph.names import Names, is_foreign


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_identifier_is_a_valid_iri_and_comes_back(identifier: str) -> None:
    names = Names()
    iri = names.iri(identifier)
    assert re.fullmatch(r'[^<>"{}|^`\\\x00-\x20]*', iri)
    if not re.match(r"<[a-zA-Z][\w+.-]*:", identifier):
        assert names.identifier(iri) == identifier


def test_freebase_identifiers_are_left_as_they_are() -> None:
    names = Names()
    assert names.iri("people.person.nationality") == "http://rdf.freebase.com/ns/people.person.nationality"
    assert pyoxigraph.NamedNode(names.iri("m.0_x1")).value == "http://rdf.freebase.com/ns/m.0_x1"


def test_an_iri_outside_the_namespace_is_kept_whole() -> None:
    names = Names("http://x/")
    assert names.identifier("http://y/b%20c") == "<http://y/b%20c>"
    assert names.iri("<http://y/b%20c>") == "http://y/b%20c"
    assert names.iri("<http://y/{b}>") == "http://y/%7Bb%7D"
    assert names.iri("<http://y/> ?s ?p ?o>") == "http://x/%3Chttp://y/%3E%20?s%20?p%20?o%3E"
    assert names.iri("<b>") == "http://x/%3Cb%3E"


@given(st.text("ab/%2F0é<>:x ", max_size=12))
def test_the_identifier_of_any_iri_leads_back_to_it(local: str) -> None:
    names = Names("http://x/")
    iri = "http://x/" + local.replace("<", "").replace(">", "").replace(" ", "")
    assert names.iri(names.identifier(iri)) == iri


@pytest.mark.parametrize("namespace", ["", "http://x y/", "<http://x/>"])
def test_a_namespace_must_be_an_iri(namespace: str) -> None:
    with pytest.raises(ValueError, match="namespace"):
        Names(namespace)


@pytest.mark.parametrize(
    ("language", "foreign"),
    [(None, False), ("", False), ("en", False), ("en-GB", False), ("EN", False), ("de", True), ("enx", True)],
)
def test_languages(language: str | None, foreign: bool) -> None:
    assert is_foreign(language) is foreign


@given(st.lists(st.integers(), max_size=8), st.sampled_from(["{}", "{}.0", " {} ", "{}e0"]))
def test_numbers_rank_by_value_whatever_their_spelling(numbers: list[int], spelling: str) -> None:
    ranked = sorted(numbers, key=lambda number: rank(spelling.format(number), XSD + "double"))
    assert ranked == sorted(numbers)


def test_ranks_of_odd_literals() -> None:
    assert rank("1990", XSD + "gYear") < rank("1990-05-01", XSD + "date") < rank("1991", XSD + "gYear")
    assert rank("-0044-03-15", XSD + "date") < rank("0044-03-15", XSD + "date")
    assert rank("NaN", XSD + "double") < rank("-5", XSD + "integer")
    assert rank("many", XSD + "integer") < rank("-5", XSD + "integer")
    assert rank("1.0", XSD + "decimal") == rank("1", XSD + "integer")
