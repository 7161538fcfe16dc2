"""`information_schema`: SCHEMATA, TABLES and COLUMNS of the task's database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from perdure.environments.database.sqlite.failure import SqlFailure
from perdure.environments.database.sqlite.kinds import DATETIME, INT, TEXT, Kind
from perdure.environments.database.sqlite.operands import quote_name, quote_text
from perdure.environments.database.sqlite.schema import COLLATION, ColumnDef, Schema, TableDef
from perdure.environments.database.sqlite.scope import Source, SourceColumn

DATABASE = "information_schema"
CHARACTER_SET = "utf8mb4"
_Cells: TypeAlias = Sequence[str | int | None]
_TEXT_LENGTHS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "longtext": 4_294_967_295}
_PRECISIONS = {
    "tinyint": 3,
    "smallint": 5,
    "mediumint": 7,
    "int": 10,
    "bigint": 19,
    "float": 12,
    "double": 22,
}
_PRIVILEGES = "select,insert,update,references"

_SCHEMATA = (
    *("CATALOG_NAME", "SCHEMA_NAME", "DEFAULT_CHARACTER_SET_NAME", "DEFAULT_COLLATION_NAME", "SQL_PATH"),
    "DEFAULT_ENCRYPTION",
)
_TABLES = (
    *("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "ENGINE", "VERSION", "ROW_FORMAT"),
    *("TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "MAX_DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE"),
    *("AUTO_INCREMENT", "CREATE_TIME", "UPDATE_TIME", "CHECK_TIME", "TABLE_COLLATION", "CHECKSUM"),
    *("CREATE_OPTIONS", "TABLE_COMMENT"),
)
_COLUMNS = (
    *("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION", "COLUMN_DEFAULT"),
    *("IS_NULLABLE", "DATA_TYPE", "CHARACTER_MAXIMUM_LENGTH", "CHARACTER_OCTET_LENGTH"),
    *("NUMERIC_PRECISION", "NUMERIC_SCALE", "DATETIME_PRECISION", "CHARACTER_SET_NAME", "COLLATION_NAME"),
    *("COLUMN_TYPE", "COLUMN_KEY", "EXTRA", "PRIVILEGES", "COLUMN_COMMENT", "GENERATION_EXPRESSION"),
    "SRS_ID",
)
_NUMBERS = frozenset(
    {"VERSION", "TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "MAX_DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE"}
    | {"AUTO_INCREMENT", "CHECKSUM", "ORDINAL_POSITION", "CHARACTER_MAXIMUM_LENGTH", "SRS_ID"}
    | {"CHARACTER_OCTET_LENGTH", "NUMERIC_PRECISION", "NUMERIC_SCALE", "DATETIME_PRECISION"}
)
_MOMENTS = frozenset({"CREATE_TIME", "UPDATE_TIME", "CHECK_TIME"})


def system_table(name: str, alias: str, schema: Schema) -> tuple[str, Source]:
    """The rows of one table as a SQLite subquery, and what it offers. Raises SqlFailure 1109."""
    found = _VIEWS.get(name.upper())
    if found is None:
        raise SqlFailure(1109, "42S02", f"Unknown table '{name.upper()}' in {DATABASE}")
    names, make = found
    kinds = [_kind(column) for column in names]
    rows = make(schema)
    header = ", ".join(f"NULL AS {quote_name(column)}" for column in names)
    parts = [f"SELECT 0 AS my_n, {header} WHERE 0"]
    parts += [f"SELECT {n}, {', '.join(map(_constant, row))}" for n, row in enumerate(rows, 1)]
    quoted = quote_name(alias)
    columns = tuple(
        SourceColumn(column, kind, f"{quoted}.{quote_name(column)}", f"{DATABASE}.{alias}.{column}")
        for column, kind in zip(names, kinds, strict=True)
    )
    return f"({' UNION ALL '.join(parts)}) AS {quoted}", Source(alias, columns, f"{quoted}.my_n")


def _kind(column: str) -> Kind:
    return INT if column in _NUMBERS else DATETIME if column in _MOMENTS else TEXT


def _constant(cell: str | int | None) -> str:
    if cell is None:
        return "NULL"
    return str(cell) if isinstance(cell, int) else quote_text(cell)


def _schemata(schema: Schema) -> list[_Cells]:
    return [
        ("def", name, CHARACTER_SET, COLLATION, None, "NO") for name in sorted((DATABASE, schema.database))
    ]


def _tables(schema: Schema) -> list[_Cells]:
    return [
        (
            *("def", schema.database, table.name, "BASE TABLE", "InnoDB", 10, "Dynamic"),
            *(None, None, None, 0, 0, 0, None, None, None, None, COLLATION, None, "", ""),
        )
        for table in sorted(schema.tables, key=lambda table: table.name)
    ]


def _columns(schema: Schema) -> list[_Cells]:
    return [
        _column(schema, table, column, position)
        for table in sorted(schema.tables, key=lambda table: table.name)
        for position, column in enumerate(table.columns, 1)
    ]


def _column(schema: Schema, table: TableDef, column: ColumnDef, position: int) -> _Cells:
    head, _, rest = column.type.lower().partition("(")
    kind = head.split()[0] if head.split() else ""
    sizes = [int(part) for part in rest.partition(")")[0].split(",") if part.strip().isdigit()]
    is_text = column.kind == TEXT
    length = (sizes[0] if sizes else _TEXT_LENGTHS.get(kind)) if is_text else None
    octets = length * (1 if kind in _TEXT_LENGTHS else 4) if length is not None else None
    if column.kind.name == "decimal":
        precision, scale = (sizes[0] if sizes else 10), column.kind.scale
        numbers: tuple[int | None, int | None] = (precision, scale)
    elif kind in _PRECISIONS:
        declared_scale = sizes[1] if len(sizes) > 1 else None
        numbers = (
            sizes[0] if sizes and not column.kind.is_exact else _PRECISIONS[kind],
            0 if column.kind.is_exact else declared_scale,
        )
    else:
        numbers = (None, None)
    return (
        *("def", schema.database, table.name, column.name, position, column.shown_default),
        *("YES" if column.nullable else "NO", kind, length, octets, *numbers),
        0 if kind in ("datetime", "timestamp", "time") else None,
        *((CHARACTER_SET, column.collation) if is_text else (None, None)),
        *(column.type.lower(), column.shown_key, column.shown_extra),
        *(_PRIVILEGES, "", "", None),
    )


_VIEWS: Mapping[str, tuple[Sequence[str], Callable[[Schema], list[_Cells]]]] = {
    "SCHEMATA": (_SCHEMATA, _schemata),
    "TABLES": (_TABLES, _tables),
    "COLUMNS": (_COLUMNS, _columns),
}
