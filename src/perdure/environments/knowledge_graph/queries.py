"""Programs as SPARQL: 1.1 for every store, with one spelling of Virtuoso's own for counting there.

Subprograms are linearised into one graph pattern whose answer is `?x`; literals in other languages than
English and the entities of the question are no answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeAlias

from perdure.environments.knowledge_graph.names import Names
from perdure.environments.knowledge_graph.programs import And, Count, Entity, Join, Program, Superlative

Dialect: TypeAlias = Literal["standard", "virtuoso"]

PREDICATES = (
    'SELECT DISTINCT ?p ?kind WHERE { ?s ?p ?o BIND(IF(isLiteral(?o), STR(DATATYPE(?o)), "node") AS ?kind) }'
)
_ENGLISH = "FILTER (!isLiteral(?x) || LANG(?x) = '' || LANGMATCHES(LANG(?x), 'en'))"


@dataclass
class _Pattern:
    """Triple patterns under construction; `fresh` numbers the inner variables."""

    names: Names
    lines: list[str] = field(default_factory=list)
    fresh: Iterator[int] = field(default_factory=count)

    def add(self, program: Program, variable: str) -> None:
        match program:
            case Entity(identifier):
                self.lines.append(f"VALUES {variable} {{ <{self.names.iri(identifier)}> }}")
            case And(left, right):
                self.add(left, variable)
                self.add(right, variable)
            case Join(relation, inner, forward):
                if isinstance(inner, Entity):
                    other = f"<{self.names.iri(inner.id)}>"
                else:
                    other = f"?x{next(self.fresh)}"
                    self.add(inner, other)
                subject, object_ = (other, variable) if forward else (variable, other)
                self.lines.append(f"{subject} <{self.names.iri(relation)}> {object_} .")
            case _:
                raise ValueError(f"{program} cannot be part of another program")


def values_query(
    program: Program, names: Names, without: Set[str] = frozenset(), dialect: Dialect = "standard"
) -> str:
    """A SELECT of one column: the members of a program, or the number it counts."""
    match program:
        case Count(inner):
            counted = "COUNT DISTINCT ?x" if dialect == "virtuoso" else "(COUNT(DISTINCT ?x) AS ?n)"
            return f"SELECT {counted} WHERE {{\n{_members(inner, names, without)}\n}}"
        case Superlative(kind, inner, attribute):
            body = _members(inner, names, without)
            order = "DESC(?best)" if kind == "ARGMAX" else "?best"
            value = f"<{names.iri(attribute)}>"
            return (
                f"SELECT DISTINCT ?x WHERE {{\n{body}\n?x {value} ?value .\n"
                f"{{ SELECT ?best WHERE {{\n{body}\n?x {value} ?best .\n}} ORDER BY {order} LIMIT 1 }}\n"
                "FILTER (?value = ?best)\n}"
            )
        case _:
            return f"SELECT DISTINCT ?x WHERE {{\n{_members(program, names, without)}\n}}"


def relations_query(program: Program, names: Names, without: Set[str] = frozenset()) -> str:
    """A SELECT of one column: the predicates that go out of the members of a program."""
    if isinstance(program, Entity):
        return f"SELECT DISTINCT ?p WHERE {{ <{names.iri(program.id)}> ?p ?o }}"
    members = values_query(program, names, without)
    return f"SELECT DISTINCT ?p WHERE {{\n{{ {members} }}\n?x ?p ?o\n}}"


def _members(program: Program, names: Names, without: Set[str]) -> str:
    pattern = _Pattern(names)
    pattern.add(program, "?x")
    excluded = [f"FILTER (?x != <{names.iri(identifier)}>)" for identifier in sorted(without)]
    return "\n".join([*pattern.lines, _ENGLISH, *excluded])
