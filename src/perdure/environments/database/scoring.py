"""Grading: typed rows for questions, table contents for changes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from sqlglot import exp

from perdure.environments.database.answers import Unreadable, read_answer
from perdure.environments.database.engine import Row, Value
from perdure.environments.database.sqlite.failure import SqlFailure
from perdure.environments.database.sqlite.parse import parse_statement

TOLERANCE = 1e-6
"""Relative and absolute, for numbers."""
_AVERAGE_DECIMALS = 4


def orders_its_result(sql: str) -> bool:
    """The outermost query has an ORDER BY."""
    try:
        tree = parse_statement(sql)
    except (SqlFailure, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


def answer_is_right(answer: str | None, truth: Sequence[Row], *, ordered: bool, loose: bool = False) -> bool:
    """The committed text holds the rows of the right answer; in their order only if `ordered`.

    Cells compare by type: numbers by value, texts exactly, NULL with None. For a single cell its bare text
    will do. No answer, or an empty text, is wrong. `loose` takes the text of a number for the number.
    """
    if not answer:
        return False
    width = len(truth[0]) if truth else 0
    if len(truth) == width == 1 and isinstance(truth[0][0], str) and answer == truth[0][0]:
        return True
    try:
        rows = read_answer(answer, width)
    except Unreadable:
        return False
    if loose:
        rows, truth = [_numbered(row) for row in rows], [_numbered(row) for row in truth]
    if len(rows) != len(truth):
        return False
    if ordered:
        return all(same_row(row, right) for row, right in zip(rows, truth, strict=True))
    return same_rows(rows, truth)


def _numbered(row: Row) -> Row:
    return tuple(_number(cell) if isinstance(cell, str) else cell for cell in row)


def _number(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def same_row(row: Row, right: Row) -> bool:
    """As many cells, each equal."""
    return len(row) == len(right) and all(same_cell(a, b) for a, b in zip(row, right, strict=True))


def same_rows(rows: Iterable[Row], truth: Iterable[Row]) -> bool:
    """The same rows in any order, repeats counted. Rows are matched within groups of equal texts."""
    groups: defaultdict[Row, list[Row]] = defaultdict(list)
    count = 0
    for right in truth:
        groups[_group(right)].append(right)
        count += 1
    for row in rows:
        candidates = groups[_group(row)]
        match = next((i for i, right in enumerate(candidates) if same_row(row, right)), None)
        if match is None:
            return False
        candidates.pop(match)
        count -= 1
    return count == 0


def _group(row: Row) -> Row:
    return tuple(0.0 if isinstance(cell, int | float | Decimal) else _plain(cell) for cell in row)


def same_cell(cell: Value, right: Value) -> bool:
    """Two cells are equal: numbers within tolerance, a mean of four decimals also by its digits."""
    cell, right = _plain(cell), _plain(right)
    numbers = int | float | Decimal
    if isinstance(cell, numbers) and isinstance(right, numbers):
        return _same_number(cell, right)
    return type(cell) is type(right) and cell == right


def _same_number(number: int | float | Decimal, right: int | float | Decimal) -> bool:
    try:
        a, b = float(number), float(right)
    except OverflowError:
        return number == right
    if math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        return True
    # MySQL shows means with four decimals; an answer with more of them is the same mean.
    scaled = not b.is_integer() and round(b, _AVERAGE_DECIMALS) == b
    return scaled and math.isfinite(a) and round(a, _AVERAGE_DECIMALS) == b


def _plain(cell: Value) -> Value:
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return cell
