"""Operands: MySQL's implicit conversions, spelled in SQLite.

Text compares without regard to case and accents, text beside a number becomes a number, and text beside a
date becomes a date.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.environments.database.sqlite.kinds import (
    DATE,
    DATETIME,
    DOUBLE,
    INT,
    NULL,
    TEXT,
    TIME,
    Kind,
    column_kind,
)
from perdure.environments.database.sqlite.scope import Emitted, gather


def build(sql: str, kind: Kind, parts: Sequence[Emitted]) -> Emitted:
    """An expression made of others."""
    loose, aggregated, windowed = gather(parts)
    return Emitted(sql, kind, loose, aggregated, windowed)


def quote_text(text: str) -> str:
    """A SQLite string literal for any text."""
    if "\0" in text:
        return f"CAST(x'{text.encode('utf-8').hex()}' AS TEXT)"
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """A SQLite identifier."""
    return '"' + name.replace('"', '""') + '"'


def as_number(value: Emitted) -> str:
    """The value in a numeric context: text is read up to its first non-numeric character."""
    if value.kind.is_number or value.kind == NULL:
        return value.sql
    return f"my_number({value.sql})"


def as_text(value: Emitted) -> str:
    """The value in a text context, with MySQL's formatting of numbers."""
    if value.kind.name == "decimal":
        return f"my_decimal_text({value.sql}, {value.kind.scale})"
    if value.kind.name == "double":
        return f"my_double_text({value.sql})"
    if value.kind == INT:
        return f"CAST({value.sql} AS TEXT)"
    return value.sql


def as_condition(value: Emitted) -> str:
    """The value as a truth value."""
    return as_number(value)


def collated(value: Emitted) -> str:
    """Text that compares, groups and sorts as MySQL's default collation; anything else unchanged."""
    return f"({value.sql} COLLATE my_ci)" if value.kind == TEXT else value.sql


def comparable(left: Emitted, right: Emitted) -> tuple[str, str]:
    """Both operands in the common type in which MySQL compares them."""
    kinds = (left.kind, right.kind)
    for kind, other in (kinds, kinds[::-1]):
        if kind.is_temporal and other == TEXT:
            as_date = "my_date_operand({0}, '" + kind.name + "')"
            return tuple(  # type: ignore[return-value]
                as_date.format(v.sql) if v.kind == TEXT else v.sql for v in (left, right)
            )
        if kind.is_number and (other == TEXT or other.is_temporal):
            return as_number(left), as_number(right)
    if {kind.name for kind in kinds} == {"date", "datetime"}:
        return f"my_datetime({left.sql})", f"my_datetime({right.sql})"
    if TEXT in kinds:
        return f"({left.sql} COLLATE my_ci)", right.sql
    return left.sql, right.sql


def compare(operator: str, left: Emitted, right: Emitted) -> Emitted:
    """A comparison of two emitted operands."""
    a, b = comparable(left, right)
    return build(f"({a} {operator} {b})", INT, (left, right))


def coerced(value: Emitted, kind: Kind) -> str:
    """A value as a branch of an expression of this kind."""
    return as_text(value) if kind == TEXT else value.sql


def cast_value(value: Emitted, target: str) -> Emitted:
    """CAST and CONVERT to a MySQL type name."""
    head = target.partition("(")[0].strip()
    if "SIGNED" in head or head.endswith(("INT", "INTEGER")):
        function = "my_integer_prefix" if value.kind == TEXT else "my_round_half_up"
        return build(f"{function}({value.sql})", INT, (value,))
    kind = column_kind(target)
    if kind.name == "decimal":
        return build(f"my_round({as_number(value)}, {kind.scale})", kind, (value,))
    if kind == DATE:
        return build(f"my_date({value.sql})", DATE, (value,))
    if kind == DATETIME:
        return build(f"my_datetime({value.sql})", DATETIME, (value,))
    if kind == TIME:
        return build(f"my_time({value.sql})", TIME, (value,))
    if kind == DOUBLE:
        return build(f"CAST({as_number(value)} AS REAL)", DOUBLE, (value,))
    length = target.partition("(")[2].rstrip(") ")
    text = as_text(value)
    return build(f"my_left({text}, {length})" if length.isdigit() else text, TEXT, (value,))
