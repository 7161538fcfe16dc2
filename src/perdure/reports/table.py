"""A table as plain data: whoever prints it decides how it looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells are finished texts; every row is as long as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    """Columns that are set flush right."""
    turns: bool = True
    """Whether rows may become columns where there is no room; else columns go to a table of their own."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row of {len(row)} cells under a header of {len(self.header)}: {row!r}")


def make_table(
    title: str,
    columns: Mapping[str, bool],
    rows: Sequence[Sequence[str]],
    *,
    drop_empty: bool = False,
    always: Collection[str] = (),
    turns: bool = True,
) -> Table:
    """A table from `header -> is it numeric`; `drop_empty` leaves out columns without any entry.

    In those of `always` a zero is an entry.
    """
    names = list(columns)
    kept = [
        i
        for i, name in enumerate(names)
        if not drop_empty or any(row[i] not in ("", "–", *([] if name in always else ["0"])) for row in rows)
    ]
    return Table(
        title,
        tuple(names[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in rows),
        frozenset(new for new, old in enumerate(kept) if columns[names[old]]),
        turns,
    )
