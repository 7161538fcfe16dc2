"""What an engine's reply looks like to the agent, within a bounded number of characters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from perdure.environments.database.engine import Row, SqlReply, Value


def reply_text(reply: SqlReply, limit: int, *, as_python: bool = False) -> str:
    """Rows as a list of tuples, `[]` for a change, or the error; longer text loses its middle.

    Exact numbers, dates and times are shown as plain literals (`63.3333`, `'2024-05-01'`). `as_python` prints
    them as Python's `str` does (`Decimal('63.3333')`), which is what the original shows.
    """
    if reply.error is not None:
        return cut(str(reply.error), limit)
    text = str(list(reply.rows)) if as_python else rows_text(reply.rows)
    text = cut(text, limit)
    if reply.truncated:
        text += f"\n(The result has more rows; these are the first {len(reply.rows)}.)"
    return text


def rows_text(rows: Sequence[Row]) -> str:
    """Rows as Python literals that need no import to be read back."""
    return f"[{', '.join(map(_row_text, rows))}]"


def _row_text(row: Row) -> str:
    cells = ", ".join(map(_cell_text, row))
    return f"({cells},)" if len(row) == 1 else f"({cells})"


def _cell_text(cell: Value) -> str:
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, datetime):
        return repr(cell.isoformat(" "))
    if isinstance(cell, date | time):
        return repr(cell.isoformat())
    if isinstance(cell, timedelta):
        return repr(str(cell))
    return repr(cell)


def cut(text: str, limit: int) -> str:
    """At most about `limit` characters: head and tail, with the size of the cut between them."""
    if len(text) <= limit:
        return text
    head = limit - limit // 2
    tail = limit // 2
    missing = len(text) - head - tail
    return f"{text[:head]}\n… {missing} characters cut …\n{text[len(text) - tail :]}"
