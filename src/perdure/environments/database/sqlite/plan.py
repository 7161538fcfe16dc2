"""What the engine is to do for one statement: a pure function of its text and the schema, cached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from perdure.environments.database.engine import SqlError
from perdure.environments.database.sqlite.kinds import Kind
from perdure.environments.database.sqlite.schema import ColumnDef, Schema, TableDef


@dataclass(frozen=True)
class Refused:
    """The statement is in error whatever the data."""

    error: SqlError


@dataclass(frozen=True)
class Nothing:
    """The statement succeeds without doing anything here (SET, COMMIT, CREATE INDEX)."""


@dataclass(frozen=True)
class Answer:
    """A result set that the schema alone decides (SHOW, DESCRIBE)."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class Query:
    """A result set to fetch."""

    sql: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    sort_keys: tuple[Kind, ...] = ()
    """Kinds of sort keys that follow the columns in each row, then its place in reading order."""


@dataclass(frozen=True)
class Insert:
    """Rows to add: each query gives values for `columns` in order."""

    table: TableDef
    columns: tuple[ColumnDef, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Assignment:
    """One SET of an UPDATE: the new value stands at `position` of the query's rows."""

    column: ColumnDef
    position: int
    kind: Kind


@dataclass(frozen=True)
class Update:
    """Rows to change: the query gives one row id a target, then the new values."""

    sql: str
    targets: tuple[tuple[str, int, tuple[Assignment, ...]], ...]
    """Table, position of its row id, its assignments."""


@dataclass(frozen=True)
class Delete:
    """Rows to remove: the query gives one row id a table."""

    sql: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Create:
    """A table to make, filled by `query` if there is one."""

    table: TableDef
    query: Query | None


@dataclass(frozen=True)
class Drop:
    """Tables to remove."""

    tables: tuple[str, ...]


@dataclass(frozen=True)
class Rebuild:
    """A table to make again with other columns; `origins` names each column's old one, None for a new one."""

    old: TableDef
    new: TableDef
    origins: tuple[str | None, ...]


Plan: TypeAlias = Refused | Nothing | Answer | Query | Insert | Update | Delete | Create | Drop | Rebuild


@lru_cache(maxsize=2048)
def plan_statement(sql: str, schema: Schema) -> Plan:
    """Read one statement. Errors are plans too, so that they are cached alike."""
    from perdure.environments.database.sqlite.failure import SqlFailure, syntax_error
    from perdure.environments.database.sqlite.parse import parse_statement
    from perdure.environments.database.sqlite.statements import plan_tree

    try:
        return plan_tree(parse_statement(sql), schema)
    except SqlFailure as failure:
        return Refused(failure.error)
    except RecursionError:
        return Refused(syntax_error(sql).error)
