"""What the environment asks of a triple store.

A variable is a program, not a set: stores evaluate it when its relations or its values are wanted, so a graph
behind an endpoint never sends more than what an answer needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Set

from perdure.environments.knowledge_graph.programs import Program


class QueryRefused(Exception):
    """A living store did not carry one query out: it took too long, or is larger than the store allows."""


class TripleStore(ABC):
    """A graph. Every method raises EnvironmentUnavailable when the store is gone, QueryRefused for one query.

    `without` are identifiers that do not count as members of the program: the entities of the question.
    """

    @abstractmethod
    def relations(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """Every predicate that goes out of an entity of a program."""

    @abstractmethod
    def values(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """The identifiers, literal texts or the one number a program stands for."""

    @abstractmethod
    def predicates(self) -> Iterable[tuple[str, str]]:
        """Each predicate with each kind of its objects: `node` or the IRI of a literal's datatype."""

    @abstractmethod
    def forget(self) -> None:
        """Drop what was kept for the open task."""

    @abstractmethod
    def close(self) -> None:
        """Free everything. Idempotent."""
