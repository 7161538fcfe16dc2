"""The embedded engine: one in-memory SQLite connection that behaves like a MySQL 8 server."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from perdure.core.types import EPOCH
from perdure.environments.database.engine import Row, SqlError, SqlReply, Table, five_digit_hash
from perdure.environments.database.sqlite.aggregates import AGGREGATE_CLASSES
from perdure.environments.database.sqlite.date_functions import DATE_FUNCTIONS
from perdure.environments.database.sqlite.failure import SqlFailure, interrupted
from perdure.environments.database.sqlite.filesort import in_filesort_order
from perdure.environments.database.sqlite.kinds import TEXT, Kind
from perdure.environments.database.sqlite.number_functions import NUMBER_FUNCTIONS
from perdure.environments.database.sqlite.operands import quote_name
from perdure.environments.database.sqlite.plan import (
    Answer,
    Create,
    Delete,
    Drop,
    Insert,
    Plan,
    Query,
    Rebuild,
    Refused,
    Update,
    plan_statement,
)
from perdure.environments.database.sqlite.present import Present
from perdure.environments.database.sqlite.schema import ColumnDef, Schema, TableDef
from perdure.environments.database.sqlite.storage import Cell, are_plain, from_cells, to_cell
from perdure.environments.database.sqlite.text_functions import TEXT_FUNCTIONS, collate

_PROGRESS_STEPS = 1_000
"""SQLite instructions between two looks at the clock."""
_MAX_PRODUCED = 256_000_000
"""Most characters of text that the functions of one statement may produce."""
_MAX_PAGES = 32_768
"""Most 4 KiB pages of a database: 128 MiB."""
_MAX_ROWS_CHANGED = 1_000_000
_MAX_CHARACTERS = 16_000_000
"""Most characters of text that one statement's rows may hold in memory."""

_REFUSED_ACTIONS = frozenset(
    {
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_CREATE_VTABLE,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_CREATE_VIEW,
    }
)
_REFUSED_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Nothing that reaches beyond this connection, whatever text gets here."""
    if action in _REFUSED_ACTIONS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


class SqliteEngine:
    """`SqlEngine` on SQLite. Not safe for use by two threads at once.

    `timeout` in seconds ends a statement; `max_rows` bounds what one result set hands out; `schema` names an
    empty database, where the first table is not to do so.
    """

    def __init__(self, *, timeout: float = 5.0, max_rows: int = 10_000, schema: Schema | None = None) -> None:
        self._timeout = timeout
        self._max_rows = max_rows
        self._schema = schema or Schema()
        self._declared: TableDef | None = None
        self._failure: SqlFailure | None = None
        self._deadline = float("inf")
        self._produced = 0
        self._closed = False
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._prepare()

    def begin(self, clock: datetime, seed: int) -> None:
        """Give statements this as the present, and draw their chance from this."""
        self._present = Present(clock, seed)
        for name, function in self._present.functions.items():
            self._connection.create_function(name, -1, self._guarded(function))

    def create(self, table: Table) -> None:
        """Add a table and fill it. Raises ValueError for rows its columns cannot hold."""
        definition = TableDef(table.name, tuple(ColumnDef(c.name, c.type) for c in table.columns))
        try:
            rows = [
                [to_cell(v, TEXT, c, number) for v, c in zip(row, definition.columns, strict=True)]
                for number, row in enumerate(table.rows, 1)
            ]
        except SqlFailure as failure:
            raise ValueError(f"table {table.name!r}: {failure}") from failure
        if not self._schema.tables:
            self._schema = Schema(table.name)
            self._declared = definition
        self._make(definition, rows)

    def execute(self, sql: str) -> SqlReply:
        """Run one statement of MySQL's dialect. Never raises for bad SQL."""
        self._failure, self._produced = None, 0
        self._present.begin_statement()
        self._deadline = time.monotonic() + self._timeout
        try:
            return self._run(plan_statement(sql, self._schema))
        except SqlFailure as failure:
            return SqlReply(error=failure.error)
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            return SqlReply(error=self._explain(error))
        finally:
            self._deadline = float("inf")

    def contents(self) -> tuple[Row, ...] | None:
        """The declared columns of the task's table, in table order; None when any of them is gone."""
        declared = self._declared
        current = self._schema.find(declared.name) if declared is not None else None
        if declared is None or current is None or any(current.find(c.name) is None for c in declared.columns):
            return None
        columns = ", ".join(quote_name(c.name) for c in declared.columns)
        kinds = [column.kind for column in declared.columns]
        cursor = self._connection.execute(
            f"SELECT {columns} FROM {quote_name(declared.name)} ORDER BY _rowid_"
        )
        return tuple(cursor) if are_plain(kinds) else tuple(from_cells(cells, kinds) for cells in cursor)

    def state_hash(self) -> str | None:
        """The published hash of `contents`."""
        rows = self.contents()
        return None if rows is None else five_digit_hash(rows)

    def drop(self) -> None:
        """Remove every table."""
        for table in self._schema.tables:
            self._connection.execute(f"DROP TABLE {quote_name(table.name)}")
        self._schema, self._declared = Schema(), None

    def close(self) -> None:
        """Free the connection."""
        if not self._closed:
            self._closed = True
            self._connection.close()

    # -- the connection

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute(f"PRAGMA max_page_count = {_MAX_PAGES}")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.create_collation("my_ci", collate)
        for functions in (TEXT_FUNCTIONS, NUMBER_FUNCTIONS, DATE_FUNCTIONS):
            for name, function in functions.items():
                connection.create_function(name, -1, self._guarded(function), deterministic=True)
        self.begin(EPOCH, 0)
        for name, aggregate in AGGREGATE_CLASSES.items():
            connection.create_aggregate(name, -1, self._guarded_class(aggregate))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 32_000_000)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self._overdue, _PROGRESS_STEPS)

    def _overdue(self) -> int:
        return int(time.monotonic() > self._deadline)

    def _guarded(self, function: Callable[..., Cell]) -> Callable[..., Cell]:
        """Keep what a function raises, which SQLite swallows; hold it to the statement's bounds."""

        def call(*arguments: Cell) -> Cell:
            try:
                result = function(*arguments)
                if isinstance(result, str):
                    self._bound_text(len(result))
            except SqlFailure as failure:
                self._failure = failure
                raise
            return result

        return call

    def _bound_text(self, length: int) -> None:
        self._produced += length
        if self._produced > _MAX_PRODUCED or time.monotonic() > self._deadline:
            raise interrupted()

    def _guarded_class(self, aggregate: type[Any]) -> type[Any]:
        step = self._guarded(aggregate.step)
        return type(aggregate.__name__, (aggregate,), {"step": lambda own, *cells: step(own, *cells)})

    def _explain(self, error: Exception) -> SqlError:
        if self._failure is not None:
            return self._failure.error
        text = str(error)
        if "interrupted" in text:
            return interrupted().error
        if "full" in text or isinstance(error, MemoryError):
            return SqlError(1114, "HY000", f"The table '{self._schema.database}' is full")
        if "too big" in text or "too large" in text:
            return SqlError(1301, "HY000", "Result was larger than max_allowed_packet - truncated")
        if "integer overflow" in text or isinstance(error, OverflowError):
            return SqlError(1690, "22003", "BIGINT value is out of range")
        if "not authorized" in text:
            return SqlError(1227, "42000", "Access denied for this operation")
        return SqlError(1105, "HY000", f"Unknown error: {text}")

    # -- plans

    def _run(self, plan: Plan) -> SqlReply:
        match plan:
            case Refused(error):
                return SqlReply(error=error)
            case Answer(names, rows):
                return SqlReply(rows=rows, columns=names)
            case Query():
                return self._fetch(plan)
        schema = self._schema
        self._connection.execute("BEGIN")
        try:
            affected = self._change(plan)
        except BaseException:
            self._schema = schema
            if self._connection.in_transaction:  # a full database has rolled back by itself
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return SqlReply(is_mutation=True, affected=affected)

    def _fetch(self, plan: Query) -> SqlReply:
        cells, truncated = _bounded(self._connection.execute(plan.sql), self._max_rows)
        if plan.sort_keys:
            cells = in_filesort_order(cells, len(plan.kinds), plan.sort_keys)
        width = len(plan.kinds)
        return SqlReply(
            rows=tuple(from_cells(row[:width], plan.kinds) for row in cells),
            columns=plan.names,
            truncated=truncated,
        )

    def _change(self, plan: Plan) -> int:
        match plan:
            case Insert():
                return self._insert(plan)
            case Update():
                return self._update(plan)
            case Delete(sql, tables):
                return self._delete(sql, tables)
            case Create(table, query):
                self._create_from(table, query)
            case Drop(tables):
                for name in tables:
                    self._connection.execute(f"DROP TABLE {quote_name(name)}")
                    self._schema = self._schema.without(name)
            case Rebuild():
                self._rebuild(plan)
        return 0

    def _read(self, sql: str) -> list[Sequence[Cell]]:
        rows, truncated = _bounded(self._connection.execute(sql), _MAX_ROWS_CHANGED)
        if truncated:
            raise SqlFailure(1206, "HY000", "The total number of locks exceeds the lock table size")
        return rows

    def _insert(self, plan: Insert) -> int:
        rows: list[list[Cell]] = []
        for query in plan.queries:
            for values in self._read(query.sql):
                rows.append(self._new_row(plan, values, query.kinds, len(rows) + 1))
        self._fill(plan.table, rows)
        return len(rows)

    def _new_row(
        self, plan: Insert, values: Sequence[Cell], kinds: Sequence[Kind], number: int
    ) -> list[Cell]:
        given = {
            column.name: to_cell(value, kind, column, number)
            for column, value, kind in zip(plan.columns, values, kinds, strict=False)
        }
        return [
            given[c.name] if c.name in given else self._default(plan.table, c, number)
            for c in plan.table.columns
        ]

    def _default(self, table: TableDef, column: ColumnDef, number: int = 1) -> Cell:
        if column.auto_increment:
            sql = f"SELECT COALESCE(MAX({quote_name(column.name)}), 0) FROM {quote_name(table.name)}"
            last: int = self._connection.execute(sql).fetchone()[0]
            return last + number
        if column.default is None:
            if not column.nullable:
                raise SqlFailure(1364, "HY000", f"Field '{column.name}' doesn't have a default value")
            return None
        plan = plan_statement(f"SELECT {column.default}", self._schema)
        if isinstance(plan, Refused):
            raise SqlFailure(plan.error.code, plan.error.sqlstate, plan.error.message)
        assert isinstance(plan, Query)
        return to_cell(self._read(plan.sql)[0][0], plan.kinds[0], column, number)

    def _update(self, plan: Update) -> int:
        rows = self._read(plan.sql)
        changed = 0
        for table, position, assignments in plan.targets:
            new: dict[Cell, list[Cell]] = {}
            for number, row in enumerate(rows, 1):
                if row[position] is not None and row[position] not in new:
                    new[row[position]] = [
                        to_cell(row[a.position], a.kind, a.column, number) for a in assignments
                    ]
            columns = ", ".join(f"{quote_name(a.column.name)} = ?" for a in assignments)
            sql = f"UPDATE {quote_name(table)} SET {columns} WHERE _rowid_ = ?"
            self._connection.executemany(sql, ([*cells, key] for key, cells in new.items()))
            changed += len(new)
        return changed

    def _delete(self, sql: str, tables: tuple[str, ...]) -> int:
        rows = self._read(sql)
        gone = 0
        for position, table in enumerate(tables):
            keys = {row[position] for row in rows if row[position] is not None}
            statement = f"DELETE FROM {quote_name(table)} WHERE _rowid_ = ?"
            self._connection.executemany(statement, ((key,) for key in keys))
            gone += len(keys)
        return gone

    def _create_from(self, table: TableDef, query: Query | None) -> None:
        rows: list[list[Cell]] = []
        if query is not None:
            own = table.columns[len(table.columns) - len(query.kinds) :]
            blank: list[Cell] = [None] * (len(table.columns) - len(own))
            for number, values in enumerate(self._read(query.sql), 1):
                cells = zip(values, query.kinds, own, strict=False)
                rows.append([*blank, *(to_cell(v, kind, c, number) for v, kind, c in cells)])
        self._make(table, rows)

    def _rebuild(self, plan: Rebuild) -> None:
        kinds = {column.name: column.kind for column in plan.old.columns}
        names = [quote_name(origin) if origin is not None else "NULL" for origin in plan.origins]
        old = self._read(f"SELECT {', '.join(names)} FROM {quote_name(plan.old.name)} ORDER BY _rowid_")
        rows = [
            [
                to_cell(v, kinds[origin], column, number)
                if origin is not None
                else self._default(plan.old, column)
                for v, origin, column in zip(values, plan.origins, plan.new.columns, strict=True)
            ]
            for number, values in enumerate(old, 1)
        ]
        self._connection.execute(f"DROP TABLE {quote_name(plan.old.name)}")
        self._make(plan.new, rows)

    def _make(self, table: TableDef, rows: Iterable[Sequence[Cell]]) -> None:
        columns = ", ".join(f"{quote_name(c.name)} {_storage(c.kind)}" for c in table.columns)
        self._connection.execute(f"CREATE TABLE {quote_name(table.name)} ({columns})")
        self._fill(table, rows)
        self._schema = self._schema.put(table)

    def _fill(self, table: TableDef, rows: Iterable[Sequence[Cell]]) -> None:
        marks = ", ".join("?" * len(table.columns))
        self._connection.executemany(f"INSERT INTO {quote_name(table.name)} VALUES ({marks})", rows)


def _bounded(cursor: sqlite3.Cursor, most: int) -> tuple[list[Sequence[Cell]], bool]:
    """Rows until `most`, or until they take too much memory; and whether there are more."""
    rows: list[Sequence[Cell]] = []
    size = 0
    for row in cursor:
        if len(rows) == most or size > _MAX_CHARACTERS:
            cursor.close()
            return rows, True
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        rows.append(row)
    return rows, False


def _storage(kind: Kind) -> str:
    if kind == TEXT:
        return "TEXT COLLATE my_ci"
    return {"int": "INTEGER", "decimal": "REAL", "double": "REAL"}.get(kind.name, "TEXT")
