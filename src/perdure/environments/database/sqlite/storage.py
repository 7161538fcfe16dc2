"""Values on their way into a column and out of a result, as MySQL's strict mode converts them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

from perdure.environments.database.engine import Row, Value
from perdure.environments.database.sqlite.date_functions import parse_moment, parse_time
from perdure.environments.database.sqlite.failure import SqlFailure
from perdure.environments.database.sqlite.kinds import INT, TEXT, Kind
from perdure.environments.database.sqlite.number_functions import decimal_text, double_text, quantize
from perdure.environments.database.sqlite.schema import ColumnDef

Cell = int | float | str | bytes | None
"""What SQLite holds."""

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*\Z")
_TEXT_BYTES = {"tinytext": 255, "text": 65_535, "mediumtext": 4_000_000}
"""Longer types are held to what this engine keeps in memory."""
_RANGES = {"tinyint": 7, "smallint": 15, "mediumint": 23, "int": 31, "integer": 31, "bigint": 63}


def to_cell(value: Value, kind: Kind, column: ColumnDef, row: int) -> Cell:
    """A value of one kind as the column stores it; `row` counts from 1 for the message.

    Raises SqlFailure: 1048 for NULL, 1264 out of range, 1292 for dates, 1366 for what is no number.
    """
    if value is None:
        if not column.nullable:
            raise SqlFailure(1048, "23000", f"Column '{column.name}' cannot be null")
        return None
    target = column.kind
    if target is INT and type(value) is int:
        low, high = _int_range(column.type)
        if low <= value <= high:
            return value
    if target is TEXT:
        text = value if isinstance(value, str) else _to_text(value, kind)
        if len(text) > 63 and not _fits(text, column.type):
            raise SqlFailure(1406, "22001", f"Data too long for column '{column.name}' at row {row}")
        return text
    if target.is_temporal:
        return _to_moment(value, target, column, row)
    number = _to_decimal(value, kind, target, column, row)
    if target.name == "int":
        return _to_int(number, column, row)
    if target.name == "decimal":
        return float(number.quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP))
    return float(number)


def _fits(text: str, type_text: str) -> bool:
    """MySQL counts bytes in TEXT columns, and characters in CHAR(n) and VARCHAR(n)."""
    head, _, rest = type_text.strip().lower().partition("(")
    length = rest.partition(")")[0].strip()
    if head.strip() in ("char", "varchar") and length.isdigit():
        return len(text) <= int(length)
    limit = _TEXT_BYTES.get(head.strip(), _TEXT_BYTES["mediumtext"])
    return len(text.encode("utf-8", "replace")) <= limit


def _to_text(value: Value, kind: Kind) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        text = decimal_text(value, kind.scale) if kind.name == "decimal" else double_text(value)
        return text or ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _to_decimal(value: Value, kind: Kind, target: Kind, column: ColumnDef, row: int) -> Decimal:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _out_of_range(column, row)
        return quantize(value, kind.scale) if kind.name == "decimal" else Decimal(repr(value))
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if not _NUMBER.match(text):
        word = "integer" if target.name == "int" else target.name
        message = f"Incorrect {word} value: '{text[:64]}' for column '{column.name}' at row {row}"
        raise SqlFailure(1366, "HY000", message)
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise _out_of_range(column, row) from None


def _to_int(number: Decimal, column: ColumnDef, row: int) -> int:
    low, high = _int_range(column.type)
    if not low - 1 < number < high + 1:
        raise _out_of_range(column, row)
    rounded = int(number.to_integral_value(ROUND_HALF_UP))
    if not low <= rounded <= high:
        raise _out_of_range(column, row)
    return rounded


@lru_cache(maxsize=64)
def _int_range(type_text: str) -> tuple[int, int]:
    words = type_text.lower().replace("(", " ").split()
    bits = _RANGES.get(words[0] if words else "int", 31)
    if "unsigned" in words:
        return 0, min(2 ** (bits + 1), 2**63) - 1  # SQLite's integers end at 2^63
    return -(2**bits), 2**bits - 1


def _out_of_range(column: ColumnDef, row: int) -> SqlFailure:
    return SqlFailure(1264, "22003", f"Out of range value for column '{column.name}' at row {row}")


def _to_moment(value: Value, target: Kind, column: ColumnDef, row: int) -> str:
    text = str(value)
    if target.name == "time":
        span = parse_time(text)
        if span is not None:
            return span
    else:
        moment = parse_moment(text)
        if moment is not None:
            return moment.strftime("%Y-%m-%d" if target.name == "date" else "%Y-%m-%d %H:%M:%S")
    message = f"Incorrect {target.name} value: '{text[:64]}' for column '{column.name}' at row {row}"
    raise SqlFailure(1292, "22007", message)


def are_plain(kinds: Sequence[Kind]) -> bool:
    """Cells of these kinds need no conversion on their way out of a column."""
    return all(kind is INT or kind is TEXT for kind in kinds)


def from_cells(cells: Sequence[Cell], kinds: Sequence[Kind]) -> Row:
    """A result row with the Python types of a MySQL driver."""
    return tuple(_from_cell(cell, kind) for cell, kind in zip(cells, kinds, strict=True))


def _from_cell(cell: Cell, kind: Kind) -> Value:
    if cell is None:
        return None
    match kind.name:
        case "int":
            return int(cell) if isinstance(cell, int | float) and math.isfinite(cell) else cell
        case "decimal":
            return quantize(cell, kind.scale) if isinstance(cell, int | float) else cell
        case "double":
            return float(cell) if isinstance(cell, int | float) else cell
        case "date" | "datetime":
            return _moment(str(cell), kind)
        case "time":
            return _span(str(cell))
        case _:
            return _to_text(cell, kind)


def _moment(text: str, kind: Kind) -> date | datetime | str:
    moment = parse_moment(text)
    if moment is None:
        return text
    return moment.date() if kind.name == "date" else moment


def _span(text: str) -> timedelta | str:
    span = parse_time(text)
    if span is None:
        return text
    sign = -1 if span.startswith("-") else 1
    hours, minutes, seconds = (int(piece) for piece in span.lstrip("-").split(":"))
    return sign * timedelta(hours=hours, minutes=minutes, seconds=seconds)
