"""Reads graphs from files: N-Triples (`.nt`) or three tab-separated columns, each of them `.gz` too."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from perdure.environments.knowledge_graph.literals import guess_datatype

Row: TypeAlias = tuple[str, str, str, str | None]
"""Subject, relation, object and the datatype of the object; None where it is an entity."""


def is_ntriples(path: Path) -> bool:
    """By its name."""
    return path.name.removesuffix(".gz").endswith(".nt")


def open_bytes(path: Path) -> BinaryIO:
    """The content of a file, unpacked."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def read_columns(path: Path) -> Iterator[Row]:
    """Rows of a tab-separated file; blank lines are left out. Raises ValueError with the line's number.

    A relation whose objects are all numbers or dates, none of them a subject anywhere, has literal values;
    every other object is an entity.
    """
    rows = _split(path)
    subjects = {subject for subject, _, _ in rows}
    with_entities = {
        relation for _, relation, object_ in rows if object_ in subjects or guess_datatype(object_) is None
    }
    for subject, relation, object_ in rows:
        yield subject, relation, object_, None if relation in with_entities else guess_datatype(object_)


def _split(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    with open_bytes(path) as lines:
        for number, line in enumerate(lines, 1):
            columns = line.decode("utf-8").rstrip("\r\n").split("\t")
            if columns == [""]:
                continue
            if len(columns) != 3 or not all(columns):
                raise ValueError(f"{path.name}, line {number}: expected three columns divided by tabs")
            rows.append((columns[0], columns[1], columns[2]))
    return rows
