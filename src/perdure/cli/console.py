"""How tables reach a terminal or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from perdure.reports.table import Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_PIPE_WIDTH = 2000
"""Columns of a table that nobody looks at through a terminal: wide enough not to fold cells."""

_READABLE_FOLDED = 4
"""A table of so few columns can be read with its cells folded."""

_GAP = 2


def print_tables(tables: Iterable[Table | None]) -> None:
    """Print tables to stdout; on a terminal they are fitted to its width."""
    from rich.console import Console

    fitted = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(
        file=sys.stdout, width=None if fitted else _PIPE_WIDTH, markup=False, emoji=False, highlight=False
    )
    for table in tables:
        if table is not None:
            for shown in fit(table, console.width):
                # A closed pipe then reaches the command as an exception, not as an exit of rich's own.
                with console.capture() as drawn:
                    console.print(_drawn(shown), "")
                typer.echo(drawn.get(), nl=False)


def fit(table: Table, width: int) -> list[Table]:
    """The table where it fits; else with cells of several lines, else turned, whole or one table a row."""
    if natural_width(table) <= width or len(table.header) <= _READABLE_FOLDED:
        return [table]
    for other in (narrowed(table), transposed(table)):
        if natural_width(other) <= width:
            return [other]
    return [transposed(replace(table, rows=(row,))) for row in table.rows]


def natural_width(table: Table) -> int:
    """Columns of a terminal that the table takes without folding."""
    columns = zip(table.header, *table.rows, strict=True)
    return sum(max(len(line) for cell in column for line in cell.split("\n")) + _GAP for column in columns)


def narrowed(table: Table) -> Table:
    """Headers of one word a line, intervals and strategies on lines of their own."""
    rows = tuple(
        tuple(cell.replace(" [", "\n[").replace(" / ", " /\n") for cell in row) for row in table.rows
    )
    return replace(table, header=tuple(name.replace(" ", "\n") for name in table.header), rows=rows)


def transposed(table: Table) -> Table:
    """Columns as rows; the first column becomes the header."""
    first, *rest = zip(table.header, *table.rows, strict=True)
    return Table(table.title, first, tuple(rest))


def _drawn(table: Table) -> RichTable:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    drawn = RichTable(
        title=table.title,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for i, name in enumerate(table.header):
        drawn.add_column(name, justify="right" if i in table.numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(printable(cell) for cell in row))
    return drawn


def printable(text: str) -> str:
    """A text that any output accepts: lone surrogates and control characters are spelled out."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in safe)
