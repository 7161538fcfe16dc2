"""Tables as GitHub-flavoured Markdown (GFM spec 0.29, section 4.10)."""

from __future__ import annotations

from perdure.reports.table import Table


def markdown(table: Table) -> str:
    """A heading and the table; a cell can hold anything, it is escaped to one line."""
    rule = ["---:" if i in table.numeric else "---" for i in range(len(table.header))]
    lines = [_row(table.header), _row(rule, raw=True), *(_row(row) for row in table.rows)]
    return f"### {_cell(table.title)}\n\n" + "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...] | list[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else _cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    one_line = " ".join(text.split())
    for mark in ("\\", "|", "`", "*", "_", "<", "[", "~"):
        one_line = one_line.replace(mark, f"\\{mark}")
    return one_line
