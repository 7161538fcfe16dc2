"""Names in a statement: what a column reference means, and in which clause it may stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sqlglot import exp

from perdure.environments.database.sqlite.failure import (
    ambiguous_column,
    invalid_group_function,
    unknown_column,
    unusable_reference,
)
from perdure.environments.database.sqlite.kinds import Kind
from perdure.environments.database.sqlite.schema import Schema

Clause: TypeAlias = Literal[
    "field list", "where clause", "on clause", "group statement", "having clause", "order clause"
]


@dataclass(frozen=True)
class Emitted:
    """A piece of SQLite SQL and what MySQL would know of it."""

    sql: str
    kind: Kind
    loose: tuple[tuple[int, str], ...] = ()
    """Columns outside any aggregate, as (scope id, `db.table.column`)."""
    aggregated: bool = False
    windowed: bool = False


@dataclass(frozen=True)
class SourceColumn:
    """A column that a FROM item offers."""

    name: str
    kind: Kind
    sql: str
    origin: str
    """`db.table.column`, as error messages name it."""
    key: bool = False
    index: Literal["", "whole", "covering"] = ""
    """MySQL reads groups of this column in its order: always, or where the statement reads nothing else."""


@dataclass(frozen=True)
class Source:
    """One FROM item: a table, a derived table or a common table expression."""

    alias: str
    columns: tuple[SourceColumn, ...]
    order: str
    """SQLite expression that numbers its rows in their incidental order."""
    table: str | None = None
    """Name of the base table, if it is one."""


@dataclass(frozen=True)
class Cte:
    """A common table expression: its query, or its bare name inside its own recursive part."""

    sql: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    recursing: bool = False


@dataclass(frozen=True)
class QueryText:
    """An emitted query: SQLite text, and the names and kinds of its columns."""

    sql: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    loose: tuple[tuple[int, str], ...] = ()
    """Outer columns that a correlated subquery reads."""
    single_row: bool = False
    sort_keys: tuple[Kind, ...] = ()
    """Kinds of the sort keys that follow the columns, before the row's place in reading order."""


@dataclass
class Context:
    """What all scopes of one statement share."""

    schema: Schema
    query: Callable[[exp.Expression, Scope], QueryText]
    """Emits a nested query inside a scope."""
    call: Callable[[exp.Expression, Scope], Emitted]
    """Emits a function call inside a scope."""
    scopes: int = 0
    locked_table: str | None = None
    """Target of an UPDATE or DELETE, which subqueries may not read (1093)."""
    reads_target: bool = False
    """A subquery reads it: refused once every name is resolved, as MySQL does."""


@dataclass
class Scope:
    """The names visible in one SELECT, and its place among the scopes around it."""

    context: Context
    parent: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    clause: Clause = "field list"
    pending: frozenset[str] = frozenset()
    """Names of the select list, also of items that are still to be read."""
    aliases: dict[str, Emitted] = field(default_factory=dict)
    """Select-list names, visible in HAVING, ORDER BY and GROUP BY."""
    group_keys: frozenset[str] = frozenset()
    """SQL of the GROUP BY expressions: what equals one of them is not loose."""
    visible: frozenset[str] = frozenset()
    """SQL of what HAVING may read outside aggregates: group keys and select-list columns."""
    in_aggregate: bool = False
    assigned: dict[str, str] = field(default_factory=dict)
    """Columns that an UPDATE has set already, by their SQL: MySQL reads the new value."""
    merged: frozenset[str] = frozenset()
    """Columns of USING and NATURAL joins, which name one column."""
    id: int = 0

    def __post_init__(self) -> None:
        self.context.scopes += 1
        self.id = self.context.scopes

    def cte(self, name: str) -> Cte | None:
        """A common table expression by name, in this or an outer scope."""
        if name in self.ctes:
            return self.ctes[name]
        return self.parent.cte(name) if self.parent is not None else None

    def column(self, node: exp.Column) -> Emitted:
        """What a column reference reads. Raises SqlFailure 1054 or 1052."""
        name, table = node.name, node.table
        alias = self._alias(name) if not table else None
        if alias is not None and self.clause == "having clause":
            return alias
        scope: Scope | None = self
        while scope is not None:
            found = scope._match(name, table)
            if found is not None:
                return scope._read(found, outer=scope is not self)
            if not table and (outer_alias := scope._alias(name)) is not None:
                if self.in_aggregate and outer_alias.aggregated and scope is not self:
                    raise unusable_reference(name, "reference to group function")
                return outer_alias
            scope = scope.parent
        if not table:
            self._refuse_early_reference(name)
        raise unknown_column(f"{table}.{name}" if table else name, self.clause)

    def _refuse_early_reference(self, name: str) -> None:
        """Raise SqlFailure where MySQL finds the name in a select list and may not use it yet."""
        own = self.aliases.get(name.lower())
        if self.in_aggregate and own is not None and own.aggregated:
            raise invalid_group_function()
        outer = self.parent
        while outer is not None:
            if outer.clause == "field list" and name.lower() in outer.pending:
                raise unusable_reference(name, "forward reference in item list")
            outer = outer.parent

    def _alias(self, name: str) -> Emitted | None:
        if self.in_aggregate or self.clause not in ("having clause", "order clause", "group statement"):
            return None
        return self.aliases.get(name.lower())

    def _match(self, name: str, table: str) -> SourceColumn | None:
        wanted = name.lower()
        hits = [
            column
            for source in self.sources
            if not table or source.alias == table
            for column in source.columns
            if column.name.lower() == wanted
        ]
        if len(hits) > 1 and wanted not in self.merged:
            raise ambiguous_column(f"{table}.{name}" if table else name, self.clause)
        return hits[0] if hits else None

    def _read(self, column: SourceColumn, *, outer: bool) -> Emitted:
        sql = self.assigned.get(column.sql, column.sql)
        hidden = (
            self.clause == "having clause" and not outer and not self.in_aggregate and sql not in self.visible
        )
        if hidden:
            raise unknown_column(column.name, self.clause)
        grouped = sql in self.group_keys
        return Emitted(sql, column.kind, () if grouped else ((self.id, column.origin),))


def gather(parts: Sequence[Emitted]) -> tuple[tuple[tuple[int, str], ...], bool, bool]:
    """Loose columns, aggregation and windows of an expression's operands, in reading order."""
    loose: dict[tuple[int, str], None] = {}
    for part in parts:
        loose.update(dict.fromkeys(part.loose))
    return tuple(loose), any(p.aggregated for p in parts), any(p.windowed for p in parts)
