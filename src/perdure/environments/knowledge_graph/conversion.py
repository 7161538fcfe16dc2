"""S-expressions ↔ action sequences (LifelongAgentBench's data construction, GrailQA's logical forms).

Rules: the class of the answer is stripped (`(AND class P)`); a relation read backwards becomes its inverse;
subprograms come first, the left one before the right; relations and attributes are listed before they are
used. Comparisons, literals and programs without an entity have no action sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from perdure.environments.knowledge_graph.actions import ARITY, Call, parse_action, variable_number
from perdure.environments.knowledge_graph.ontology import Ontology
from perdure.environments.knowledge_graph.programs import (
    And,
    Count,
    Entity,
    Join,
    Program,
    Superlative,
    parse_program,
    parts,
)

Reason: TypeAlias = Literal["unreadable", "class", "irreversible", "vocabulary", "type", "result", "sequence"]


class NotConvertible(ValueError):
    """An S-expression or a sequence that has no counterpart; `reason` is the kind of obstacle."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = reason


def to_actions(s_expression: str, ontology: Ontology | None = None) -> list[str]:
    """The actions that build an S-expression; relations read backwards need an ontology to be reversed.

    Raises NotConvertible. Vocabulary and types are not looked at: `check_actions` does that.
    """
    try:
        program = parse_program(s_expression)
    except ValueError as error:
        raise NotConvertible("unreadable", str(error)) from error
    program = _reverse(_strip_class(program), {} if ontology is None else ontology.inverses)
    _check_structure(program)
    writer = _Writer()
    writer.write(program)
    return writer.actions


def from_actions(actions: Sequence[str], entities: Sequence[str] = ()) -> str:
    """The S-expression of the last variable that a sequence makes. Raises NotConvertible.

    `entities` are names and identifiers that may hold commas or parentheses of their own.
    """
    variables: list[Program] = []
    for action in actions:
        call = parse_action(f"Action: {action}", entities)
        if not isinstance(call, Call) or ARITY.get(call.name) != len(call.arguments):
            raise NotConvertible("sequence", f"not an action: {action!r}")
        if call.name not in ("get_relations", "get_attributes"):
            variables.append(_apply(call, variables))
    if not variables:
        raise NotConvertible("sequence", "the actions make no variable")
    return str(variables[-1])


def check_actions(actions: Sequence[str], ontology: Ontology, entities: Sequence[str] = ()) -> None:
    """Vocabulary, types and order of a sequence, as the environment checks them. Raises NotConvertible."""
    program = parse_program(from_actions(actions, entities))
    _check_structure(program)
    _type(program, ontology)
    listed: set[tuple[str, str]] = set()
    for action in actions:
        call = parse_action(f"Action: {action}", entities)
        assert isinstance(call, Call)
        subject = call.arguments[0]
        if call.name in ("get_relations", "get_attributes"):
            listed.add((call.name, subject))
            continue
        needed = {"get_neighbors": "get_relations", "argmax": "get_attributes", "argmin": "get_attributes"}
        if call.name in needed and (needed[call.name], subject) not in listed:
            raise NotConvertible("sequence", f"{action} comes before {needed[call.name]}({subject})")


class _Writer:
    """Writes the actions of a program, subprograms first."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self._variables = 0

    def write(self, program: Program) -> str:
        """Append what makes `program`; returns how later actions name it."""
        match program:
            case Entity(identifier):
                return identifier
            case Join(relation, inner):
                subject = self.write(inner)
                self.actions.append(f"get_relations({subject})")
                return self._define(f"get_neighbors({subject},{relation})")
            case And(left, right):
                first = self.write(left)
                return self._define(f"intersection({first},{self.write(right)})")
            case Count(inner):
                return self._define(f"count({self.write(inner)})")
            case Superlative(kind, inner, attribute):
                subject = self.write(inner)
                self.actions.append(f"get_attributes({subject})")
                return self._define(f"{kind.lower()}({subject},{attribute})")

    def _define(self, action: str) -> str:
        self.actions.append(action)
        self._variables += 1
        return f"#{self._variables - 1}"


def _strip_class(program: Program) -> Program:
    """Without the answer's class: at the outermost level, or just inside a count or a superlative."""
    match program:
        case And(Entity(), inner) | And(inner, Entity()):
            return _strip_class(inner)
        case Count(inner):
            return Count(_strip_class(inner))
        case Superlative(kind, inner, attribute):
            return Superlative(kind, _strip_class(inner), attribute)
    return program


def _reverse(program: Program, inverses: Mapping[str, str]) -> Program:
    """With every relation read forward."""
    match program:
        case Join(relation, inner, True):
            return Join(relation, _reverse(inner, inverses))
        case Join(relation, inner, False):
            if relation not in inverses:
                raise NotConvertible("irreversible", f"{relation} has no inverse")
            return Join(inverses[relation], _reverse(inner, inverses))
        case And(left, right):
            return And(_reverse(left, inverses), _reverse(right, inverses))
        case Count(inner):
            return Count(_reverse(inner, inverses))
        case Superlative(kind, inner, attribute):
            return Superlative(kind, _reverse(inner, inverses), attribute)
    return program


def _check_structure(program: Program) -> None:
    """Actions apply to variables, and a result is the end."""
    for part in parts(program):
        if isinstance(part, Count | Superlative):
            raise NotConvertible("result", f"a count or a superlative is not the outermost part of {program}")
        if isinstance(part, Entity) and not isinstance(program, Join):
            raise NotConvertible("class", f"{program} applies to an entity or a class, not to a variable")
        _check_structure(part)


def _type(program: Program, ontology: Ontology) -> str:
    """The type of a variable's members. Raises NotConvertible."""
    match program:
        case Join(relation, inner):
            if not isinstance(inner, Entity):
                _type(inner, ontology)
            if relation not in ontology.relations or relation not in ontology.ranges:
                raise NotConvertible("vocabulary", f"{relation} is not a relation of the vocabulary")
            return ontology.ranges[relation]
        case And(left, right):
            first, second = _type(left, ontology), _type(right, ontology)
            if first != second:
                raise NotConvertible("type", f"an intersection of {first} and {second}")
            return first
        case Superlative(_, inner, attribute):
            if attribute not in ontology.attributes:
                raise NotConvertible("vocabulary", f"{attribute} is not an attribute of the vocabulary")
            return _type(inner, ontology)
        case Count(inner):
            return _type(inner, ontology)
    raise NotConvertible("class", f"{program} is no variable")


def _apply(call: Call, variables: Sequence[Program]) -> Program:
    """The program of one action over earlier ones."""

    def variable(argument: str) -> Program:
        number = variable_number(argument)
        if number is None or not 0 <= number < len(variables):
            raise NotConvertible("sequence", f"{call} uses {argument!r}, which is no variable")
        return variables[number]

    match call.name, call.arguments:
        case "get_neighbors", (subject, relation):
            is_entity = variable_number(subject) is None
            return Join(relation, Entity(subject) if is_entity else variable(subject))
        case "intersection", (left, right):
            return And(variable(left), variable(right))
        case "count", (subject,):
            return Count(variable(subject))
        case name, (subject, attribute):
            return Superlative("ARGMAX" if name == "argmax" else "ARGMIN", variable(subject), attribute)
    raise AssertionError(call.name)
