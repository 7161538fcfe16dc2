"""The embedded store: pyoxigraph in memory, programs evaluated set by set.

Each subprogram is a set without duplicates, so a chain of hops costs at most one pass over the edges of each
hop; one flat pattern would enumerate every path. Sets are kept for the open task: an intersection of two
variables is an intersection of two sets.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from perdure.core.errors import MissingExtra
from perdure.core.installation import add_extras
from perdure.environments.knowledge_graph.literals import Rank, rank
from perdure.environments.knowledge_graph.names import Names, is_foreign, literal_text
from perdure.environments.knowledge_graph.programs import And, Count, Entity, Join, Program, Superlative
from perdure.environments.knowledge_graph.queries import PREDICATES
from perdure.environments.knowledge_graph.triple_files import Row, is_ntriples, open_bytes, read_columns
from perdure.environments.knowledge_graph.triple_store import QueryRefused, TripleStore
from perdure.environments.loaded_once import Loaded, LoadedOnce

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store, Triple

    Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
    Member: TypeAlias = str | BlankNode | Literal | Triple
    """A node by its IRI (texts hash and compare fastest), anything else as it is."""

_GRAPHS: LoadedOnce[Store] = LoadedOnce()

_MOST_KEPT = 5_000_000
"""Members of kept sets; beyond, they are evaluated anew."""
_LOOKUPS_A_LOOK = 256
"""Index lookups between two looks at the clock."""


class OxigraphStore(TripleStore):
    """A graph in memory, read from a file.

    `timeout_seconds` bounds one query. Stores with equal `shared` keys hold one graph, which the first of
    them loads; None: one of its own. Raises MissingExtra; OSError or ValueError for the file.
    """

    def __init__(
        self,
        graph: Path,
        *,
        names: Names | None = None,
        timeout_seconds: float = 30.0,
        shared: Hashable = None,
    ) -> None:
        try:
            import pyoxigraph
        except ImportError:
            raise MissingExtra("the embedded triple store", add_extras("kg")) from None
        self._rdf = pyoxigraph
        self._names = names or Names()
        self._timeout = timeout_seconds
        self._kept: dict[Program, Set[Member]] = {}
        self._kept_members = 0
        self._loaded = (
            Loaded(self._load(graph)) if shared is None else _GRAPHS.get(shared, lambda: self._load(graph))
        )

    @property
    def _store(self) -> Store:
        return self._loaded.value

    def __len__(self) -> int:
        return len(self._store)

    def relations(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """By the index of subjects."""
        deadline = self._deadline()
        found: set[str] = set()
        for node in self._nodes(self._members(program, without, deadline), deadline):
            found.update(quad.predicate.value for quad in self._store.quads_for_pattern(node, None, None))
        return {self._names.identifier(iri) for iri in found}

    def values(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """As identifiers and literal texts."""
        deadline = self._deadline()
        if isinstance(program, Count):
            return {str(len(self._members(program.inner, without, deadline)))}
        if isinstance(program, Superlative):
            return {self._text(member) for member in self._best(program, without, deadline)}
        return {self._text(member) for member in self._members(program, without, deadline)}

    def predicates(self) -> Iterable[tuple[str, str]]:
        """One pass over the graph."""
        for predicate, kind in self._store.query(PREDICATES):  # type: ignore[union-attr]
            yield self._names.identifier(predicate.value), kind.value

    def forget(self) -> None:
        """Drop the sets of the open task."""
        self._kept.clear()
        self._kept_members = 0

    def close(self) -> None:
        """Drop the graph."""
        self.forget()
        self._loaded = Loaded(self._rdf.Store())

    def _load(self, graph: Path) -> Store:
        store = self._rdf.Store()
        if is_ntriples(graph):
            with open_bytes(graph) as content:
                try:
                    store.bulk_load(input=content, format=self._rdf.RdfFormat.N_TRIPLES)
                except SyntaxError as error:
                    raise ValueError(f"{graph.name}: {error}") from error
        else:
            store.bulk_extend(map(self._quad, read_columns(graph)))
        return store

    def _quad(self, row: Row) -> Quad:
        subject, relation, value, datatype = row
        rdf, names = self._rdf, self._names
        object_ = (
            rdf.NamedNode(names.iri(value))
            if datatype is None
            else rdf.Literal(value, datatype=rdf.NamedNode(datatype))
        )
        quad: Quad = rdf.Quad(rdf.NamedNode(names.iri(subject)), rdf.NamedNode(names.iri(relation)), object_)
        return quad

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout

    def _members(self, program: Program, without: Set[str], deadline: float) -> Set[Member]:
        """The members of a program that count."""
        members = self._evaluate(program, deadline)
        if isinstance(program, Entity):
            return members
        literal = self._rdf.Literal
        dropped: set[Member] = {self._names.iri(name) for name in without}
        dropped.update([term for term in members if isinstance(term, literal) and is_foreign(term.language)])
        return members - dropped

    def _evaluate(self, program: Program, deadline: float) -> Set[Member]:
        kept = self._kept.get(program)
        if kept is not None:
            return kept
        members: Set[Member]
        match program:
            case Entity(identifier):
                return {self._names.iri(identifier)}
            case And(left, right):
                members = self._evaluate(left, deadline) & self._evaluate(right, deadline)
            case Join(relation, inner, forward):
                members = self._hop(self._evaluate(inner, deadline), relation, forward, deadline)
            case _:
                raise ValueError(f"{program} cannot be part of another program")
        self._kept_members += len(members)
        if self._kept_members > _MOST_KEPT:
            self.forget()
        self._kept[program] = members
        return members

    def _hop(self, sources: Set[Member], relation: str, forward: bool, deadline: float) -> set[Member]:
        predicate = self._rdf.NamedNode(self._names.iri(relation))
        pattern, node = self._store.quads_for_pattern, self._rdf.NamedNode
        found: set[Member] = set()
        if not forward:
            for source in sources:
                _check(deadline)
                object_ = node(source) if isinstance(source, str) else source
                found.update(_member(quad.subject, node) for quad in pattern(None, predicate, object_))
            return found
        for subject in self._nodes(sources, deadline):
            quads = pattern(subject, predicate, None)
            found.update([term.value if isinstance(term := quad.object, node) else term for quad in quads])
        return found

    def _best(self, program: Superlative, without: Set[str], deadline: float) -> set[Member]:
        predicate = self._rdf.NamedNode(self._names.iri(program.attribute))
        sign = max if program.kind == "ARGMAX" else min
        ranked: dict[Member, Rank] = {}
        for node in self._nodes(self._members(program.inner, without, deadline), deadline):
            ranks = [
                rank(quad.object.value, quad.object.datatype.value)
                for quad in self._store.quads_for_pattern(node, predicate, None)
                if isinstance(quad.object, self._rdf.Literal)
            ]
            if ranks:
                ranked[_member(node, self._rdf.NamedNode)] = sign(ranks)
        if not ranked:
            return set()
        best = sign(ranked.values())
        return {member for member, value in ranked.items() if value == best}

    def _nodes(self, members: Set[Member], deadline: float) -> Iterator[NamedNode | BlankNode]:
        """Those members that may be a subject. Looks at the clock now and then."""
        node, blank = self._rdf.NamedNode, self._rdf.BlankNode
        for i, member in enumerate(members):
            if i % _LOOKUPS_A_LOOK == 0:
                _check(deadline)
            if isinstance(member, str):
                yield node(member)
            elif isinstance(member, blank):
                yield member

    def _text(self, member: Member) -> str:
        if isinstance(member, str):
            return self._names.identifier(member)
        return literal_text(member.value) if isinstance(member, self._rdf.Literal) else str(member)


def _member(term: Term, node: type[NamedNode]) -> Member:
    return term.value if isinstance(term, node) else term


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise QueryRefused("the query took too long")
