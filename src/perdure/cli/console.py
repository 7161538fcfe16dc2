"""How tables reach a terminal or a pipe."""

from __future__ import annotations

import os
import shutil
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

    console = Console(file=sys.stdout, width=output_width(), color_system=None, markup=False, emoji=False)
    for table in tables:
        if table is not None:
            for shown in fit(table, console.width):
                # A closed pipe then reaches the command as an exception, not as an exit of rich's own.
                with console.capture() as drawn:
                    console.print(_drawn(shown))
                typer.secho(printable(shown.title), bold=True)
                typer.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()) + "\n")


def output_width() -> int:
    """Columns of the terminal, or as many as nobody will miss in a pipe; `COLUMNS` overrules."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return _PIPE_WIDTH


def fit(table: Table, width: int) -> list[Table]:
    """The table where it fits; else with cells of several lines, else turned, else in parts."""
    if natural_width(table) <= width or len(table.header) <= _READABLE_FOLDED:
        return [table]
    shapes = [narrowed(table)]
    if table.turns:
        shapes += [transposed(table), transposed(narrowed(table))]
    for shape in shapes:
        if natural_width(shape) <= width:
            return [shape]
    return in_parts(shapes[-1], width)


def in_parts(table: Table, width: int) -> list[Table]:
    """The first column with as many of the others as there is room for, at least one, a table each."""
    groups: list[list[int]] = []
    for i in range(1, len(table.header)):
        if groups and natural_width(_columns(table, [0, *groups[-1], i])) <= width:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [_columns(table, [0, *group]) for group in groups] or [table]


def _columns(table: Table, chosen: list[int]) -> Table:
    return Table(
        table.title,
        tuple(table.header[i] for i in chosen),
        tuple(tuple(row[i] for i in chosen) for row in table.rows),
        frozenset(new for new, old in enumerate(chosen) if old in table.numeric),
        table.turns,
    )


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
