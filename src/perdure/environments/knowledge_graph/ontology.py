"""What a graph's relations are: the listed ones, attributes, what each leads to, what reverses it.

A folder of an ontology holds, each also as `.gz`:

    vocab.json                         {"relations": […], "attributes": […]}
    roles.txt or fb_roles              a line: domain relation range
    inverses.txt or reverse_properties a line: relation and the one that goes the other way (may be absent)
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perdure.environments.knowledge_graph.literals import is_measurable

NODE, VALUE = "entity", "value"
"""Types of a graph without an ontology."""

_NODE_KIND = "node"


@dataclass(frozen=True)
class Ontology:
    """The vocabulary of a graph. `ranges` maps a relation to the type of what it leads to."""

    relations: frozenset[str]
    attributes: frozenset[str]
    ranges: Mapping[str, str] = field(repr=False)
    inverses: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_ontology(folder: Path) -> Ontology:
    """Read a folder. Raises OSError, ValueError."""
    vocabulary = json.loads("".join(_lines(folder, "vocab.json")))
    inverses: dict[str, str] = {}
    for line in _lines(folder, "inverses.txt", "reverse_properties", optional=True):
        relation, _, inverse = line.strip().partition("\t")
        inverses[relation] = inverse.strip()
    ranges = {}
    for line in _lines(folder, "roles.txt", "fb_roles"):
        # One published line holds two entries run together; its first three fields are those of the first.
        columns = line.split()[:3]
        if len(columns) == 3:
            ranges[columns[1]] = columns[2]
    return Ontology(frozenset(vocabulary["relations"]), frozenset(vocabulary["attributes"]), ranges, inverses)


def ontology_files(folder: Path) -> list[Path]:
    """The files of a folder that `load_ontology` may read, sorted."""
    names = {"vocab.json", "roles.txt", "fb_roles", "inverses.txt", "reverse_properties"}
    return sorted(path for path in folder.iterdir() if path.name.removesuffix(".gz") in names)


def derive_ontology(predicates: Iterable[tuple[str, str]]) -> Ontology:
    """The ontology of a graph that has none, from its predicates and the kinds of their objects.

    Everything is a relation; a predicate whose objects are all numbers or dates is an attribute too. Entities
    have one type, literals another.
    """
    kinds: dict[str, set[str]] = {}
    for predicate, kind in predicates:
        kinds.setdefault(predicate, set()).add(kind)
    return Ontology(
        frozenset(kinds),
        frozenset(name for name, found in kinds.items() if all(map(is_measurable, found))),
        {name: NODE if _NODE_KIND in found else VALUE for name, found in kinds.items()},
    )


def _lines(folder: Path, *names: str, optional: bool = False) -> Iterator[str]:
    for name in names:
        plain, packed = folder / name, folder / f"{name}.gz"
        if plain.exists():
            yield from plain.read_text("utf-8").splitlines(keepends=True)
            return
        if packed.exists():
            yield from gzip.decompress(packed.read_bytes()).decode("utf-8").splitlines(keepends=True)
            return
    if not optional:
        raise FileNotFoundError(f"{str(folder)!r} holds no {' or '.join(names)}")
