"""Programs: what a variable stands for, as the S-expressions of GrailQA.

    m.0x1                              an entity
    (JOIN (R geo.town.river) P)        the objects of a relation, from each entity of P
    (JOIN geo.river.town P)            the subjects of a relation whose object is in P
    (AND P Q)                          entities of both
    (COUNT P)   (ARGMAX P attribute)   (ARGMIN P attribute)

An atom that holds blanks, parentheses or quotes is written as a JSON string.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

DEEPEST = 64
"""Nested parentheses that `parse_program` follows."""

_TOKEN = re.compile(r'\s*(?:([()])|("(?:[^"\\]|\\.)*+")|([^\s()"]+))')
_BARE = re.compile(r'[^\s()"\\]+')


@dataclass(frozen=True)
class Entity:
    """One entity by its identifier, or a class of entities where an S-expression names one."""

    id: str

    def __str__(self) -> str:
        return _atom(self.id)


@dataclass(frozen=True)
class Join:
    """The neighbours of `inner`: objects of its relation, or subjects where `forward` is false."""

    relation: str
    inner: Program
    forward: bool = True

    def __str__(self) -> str:
        relation = _atom(self.relation)
        return f"(JOIN {f'(R {relation})' if self.forward else relation} {self.inner})"


@dataclass(frozen=True)
class And:
    """What is in both."""

    left: Program
    right: Program

    def __str__(self) -> str:
        return f"(AND {self.left} {self.right})"


@dataclass(frozen=True)
class Count:
    """How many entities `inner` has."""

    inner: Program

    def __str__(self) -> str:
        return f"(COUNT {self.inner})"


@dataclass(frozen=True)
class Superlative:
    """The entities of `inner` with the largest or the smallest value of an attribute; ties are all kept."""

    kind: Literal["ARGMAX", "ARGMIN"]
    inner: Program
    attribute: str

    def __str__(self) -> str:
        return f"({self.kind} {self.inner} {_atom(self.attribute)})"


Program: TypeAlias = Entity | Join | And | Count | Superlative


def parts(program: Program) -> tuple[Program, ...]:
    """The programs directly inside."""
    match program:
        case Entity():
            return ()
        case And(left, right):
            return (left, right)
        case _:
            return (program.inner,)


def size(program: Program) -> int:
    """Number of nodes, shared ones counted each time: what a query of it costs."""
    return 1 + sum(size(part) for part in parts(program))


def entities_of(program: Program) -> frozenset[str]:
    """Every entity a program starts from."""
    if isinstance(program, Entity):
        return frozenset({program.id})
    return frozenset().union(*(entities_of(part) for part in parts(program)))


def parse_program(text: str) -> Program:
    """The program an S-expression writes. Raises ValueError: not balanced, too deep, an unknown operator."""
    tree = _read(text)
    return _build(tree)


_Tree: TypeAlias = "str | list[_Tree]"


def _read(text: str) -> _Tree:
    """Nested lists of atoms."""
    root: list[_Tree] = []
    stack = [root]
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"S-expression: unexpected {text[position : position + 20]!r}")
        position = match.end()
        if match[1] == "(":
            if len(stack) > DEEPEST:
                raise ValueError(f"S-expression: more than {DEEPEST} nested parentheses")
            stack[-1].append([])
            stack.append(stack[-1][-1])  # type: ignore[arg-type]
        elif match[1] == ")":
            if len(stack) == 1:
                raise ValueError("S-expression: a parenthesis closes that was not opened")
            stack.pop()
        else:
            stack[-1].append(json.loads(match[2]) if match[2] else match[3])
    if len(stack) > 1 or len(root) != 1:
        raise ValueError("S-expression: expected one expression with balanced parentheses")
    return root[0]


def _build(tree: _Tree) -> Program:
    match tree:
        case str(identifier):
            return Entity(identifier)
        case ["JOIN", ["R", str(relation)], inner]:
            return Join(relation, _build(inner))
        case ["JOIN", str(relation), inner]:
            return Join(relation, _build(inner), forward=False)
        case ["AND", left, right]:
            return And(_build(left), _build(right))
        case ["COUNT", inner]:
            return Count(_build(inner))
        case [("ARGMAX" | "ARGMIN") as kind, inner, str(attribute)]:
            return Superlative(kind, _build(inner), attribute)
    head = tree[0] if tree and isinstance(tree[0], str) else "("
    raise ValueError(
        f"S-expression: cannot read a {head!r} of {len(tree) - 1} parts; "
        "known: JOIN, R, AND, COUNT, ARGMAX, ARGMIN"
    )


def _atom(text: str) -> str:
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
