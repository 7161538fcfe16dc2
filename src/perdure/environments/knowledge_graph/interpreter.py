"""Plays the actions of one task: variables, what was listed, and every precondition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from perdure.environments.knowledge_graph.actions import ARITY, Call, variable_number
from perdure.environments.knowledge_graph.ontology import Ontology
from perdure.environments.knowledge_graph.programs import (
    And,
    Count,
    Entity,
    Join,
    Program,
    Superlative,
    entities_of,
    size,
)
from perdure.environments.knowledge_graph.triple_store import TripleStore

LARGEST_PROGRAM = 256
"""Nodes of a program; intersecting a variable with itself doubles it each time."""

INTEGER = "type.int"
_ENTITY = re.compile(r"[gm]\.[A-Za-z0-9_]{1,64}")
_ECHO = 200
"""Characters of an argument that an error repeats."""


class Refused(Exception):
    """An action whose precondition is not met; the text is the observation."""


class RangeUnknown(Exception):
    """The ontology lists a relation and does not say what it leads to: the task's own data are at fault."""


@dataclass(frozen=True)
class Variable:
    """A program with the type of its members; a result can only be the final answer."""

    program: Program
    type: str
    is_result: bool = False


class Interpreter:
    """One task under way.

    `entities` maps the names of the question to identifiers. `keep_topic` lets the question's entities be
    among the answers; `negative_indices` makes `#-1` the last variable, as the original does.
    """

    def __init__(
        self,
        store: TripleStore,
        ontology: Ontology,
        entities: Mapping[str, str],
        *,
        keep_topic: bool = False,
        negative_indices: bool = False,
    ) -> None:
        self.variables: list[Variable] = []
        self._store = store
        self._ontology = ontology
        self._entities = entities
        self._identifiers = frozenset(entities.values())
        self._keep_topic = keep_topic
        self._negative_indices = negative_indices
        self._relations: dict[Program, frozenset[str]] = {}
        self._attributes: dict[Program, frozenset[str]] = {}

    def run(self, call: Call) -> str:
        """Carry out an action and tell what came of it.

        Raises Refused, RangeUnknown, QueryRefused, EnvironmentUnavailable.
        """
        arity = ARITY.get(call.name)
        if arity is None:
            raise Refused(f"Unknown action {_echo(call.name)}: use one of {', '.join(ARITY)}.")
        if len(call.arguments) != arity:
            takes = "1 argument" if arity == 1 else f"{arity} arguments"
            raise Refused(f"{call.name} takes {takes}, not {len(call.arguments)}.")
        match call.name, call.arguments:
            case "get_relations", (subject,):
                return _listing(call, self._list_relations(subject))
            case "get_attributes", (subject,):
                return _listing(call, self._list_attributes(subject))
            case "get_neighbors", (subject, relation):
                return self._define(call, self._neighbors(subject, relation))
            case "intersection", (left, right):
                return self._define(call, self._intersection(left, right))
            case "count", (subject,):
                program = Count(self._reusable(call.name, subject).program)
                return self._define(call, Variable(program, INTEGER, is_result=True))
            case _, (subject, attribute):
                return self._define(call, self._superlative(call.name, subject, attribute))
        raise AssertionError(call.name)

    def answer(self, index: int) -> set[str]:
        """What a variable stands for. Raises Refused for one that is not there, and as `run` does."""
        program = self._at(index).program
        return self._store.values(program, self._without(program))

    def _list_relations(self, subject: str) -> frozenset[str]:
        program = self._entity_or_variable("get_relations", subject)
        if program not in self._relations:
            found = self._store.relations(program, self._without(program))
            self._relations[program] = frozenset(found & self._ontology.relations)
        return self._relations[program]

    def _list_attributes(self, subject: str) -> frozenset[str]:
        program = self._reusable("get_attributes", subject).program
        if program not in self._attributes:
            found = self._store.relations(program, self._without(program))
            self._attributes[program] = frozenset(found & self._ontology.attributes)
        return self._attributes[program]

    def _neighbors(self, subject: str, relation: str) -> Variable:
        program = self._entity_or_variable("get_neighbors", subject)
        listed = self._relations.get(program)
        if listed is None:
            raise Refused(
                f"Call get_relations({_echo(subject)}) before get_neighbors: its relations are not known."
            )
        if relation not in listed:
            raise Refused(
                f"{_echo(relation)} is not a relation of {_echo(subject)} that get_relations listed."
            )
        if relation not in self._ontology.ranges:
            raise RangeUnknown(relation)
        return self._checked(Variable(Join(relation, program), self._ontology.ranges[relation]))

    def _intersection(self, left: str, right: str) -> Variable:
        first, second = self._reusable("intersection", left), self._reusable("intersection", right)
        if first.type != second.type:
            raise Refused(
                f"intersection needs two variables of one type, but {left} is of type {first.type} "
                f"and {right} of type {second.type}."
            )
        return self._checked(Variable(And(first.program, second.program), first.type))

    def _superlative(self, name: str, subject: str, attribute: str) -> Variable:
        variable = self._reusable(name, subject)
        listed = self._attributes.get(variable.program)
        if listed is None:
            raise Refused(f"Call get_attributes({subject}) before {name}: its attributes are not known.")
        if attribute not in listed:
            raise Refused(f"{_echo(attribute)} is not an attribute of {subject} that get_attributes listed.")
        kind: Literal["ARGMAX", "ARGMIN"] = "ARGMAX" if name == "argmax" else "ARGMIN"
        return Variable(Superlative(kind, variable.program, attribute), variable.type, is_result=True)

    def _define(self, call: Call, variable: Variable) -> str:
        self.variables.append(variable)
        number = len(self.variables) - 1
        members = "a number" if isinstance(variable.program, Count) else f"entities of type {variable.type}"
        return f"{_echo(str(call))}: variable #{number}, {members}"

    def _checked(self, variable: Variable) -> Variable:
        if size(variable.program) > LARGEST_PROGRAM:
            raise Refused(f"This variable would be made of more than {LARGEST_PROGRAM} steps.")
        return variable

    def _entity_or_variable(self, action: str, argument: str) -> Program:
        if variable_number(argument) is not None:
            return self._reusable(action, argument).program
        identifier = self._entities.get(argument, argument)
        if identifier in self._identifiers or _ENTITY.fullmatch(identifier):
            return Entity(identifier)
        raise Refused(
            f"{_echo(argument)} is neither an entity of this question nor a variable such as #0. "
            f"The entities are: {', '.join(map(_echo, self._entities)) or 'none'}."
        )

    def _reusable(self, action: str, argument: str) -> Variable:
        number = variable_number(argument)
        if number is None:
            raise Refused(f"{action} takes a variable such as #0, not {_echo(argument)}.")
        variable = self._at(number)
        if variable.is_result:
            raise Refused(f"{argument} is a result: it can only be the final answer.")
        return variable

    def _at(self, index: int) -> Variable:
        count = len(self.variables)
        if 0 <= index < count or (self._negative_indices and -count <= index < 0):
            return self.variables[index]
        known = ", ".join(f"#{i}" for i in range(count)) or "none yet"
        raise Refused(f"There is no variable #{index}; the variables are: {known}.")

    def _without(self, program: Program) -> frozenset[str]:
        return frozenset() if self._keep_topic else entities_of(program)


def _listing(call: Call, names: Iterable[str]) -> str:
    """A list in full, however long: later actions need every name of it."""
    return f"{_echo(str(call))}: [{', '.join(sorted(names))}]"


def _echo(text: str) -> str:
    return text if len(text) <= _ECHO else f"{text[:_ECHO]}… ({len(text)} characters)"
