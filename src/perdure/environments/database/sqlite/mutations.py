"""INSERT, UPDATE and DELETE as queries for row ids and new values.

Reading first and writing by row id gives MySQL's forms that SQLite lacks (joins, ORDER BY and LIMIT,
several targets) one meaning, and lets values be converted by MySQL's rules on their way in.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from perdure.environments.database.sqlite.arguments import refuse_unread
from perdure.environments.database.sqlite.expressions import emit
from perdure.environments.database.sqlite.failure import (
    SqlFailure,
    syntax_error,
    target_in_subquery,
    unknown_column,
    unknown_database,
)
from perdure.environments.database.sqlite.kinds import INT, NULL, TEXT
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.operands import (
    as_condition,
    as_number,
    as_text,
    collated,
    quote_name,
)
from perdure.environments.database.sqlite.parse import parse_statement
from perdure.environments.database.sqlite.plan import Assignment, Delete, Insert, Query, Update
from perdure.environments.database.sqlite.queries import add_ctes, emit_query, new_context
from perdure.environments.database.sqlite.schema import ColumnDef, Schema, TableDef
from perdure.environments.database.sqlite.scope import Emitted, Scope, Source
from perdure.environments.database.sqlite.select import limit_text
from perdure.environments.database.sqlite.sources import From, emit_from, emit_joins, part


def plan_insert(node: exp.Expression, schema: Schema) -> Insert:
    """INSERT … VALUES, SET and SELECT. Raises SqlFailure."""
    refuse_unread(node, {"this", "expression", "with", "conflict", "ignore"})
    target = node.this
    names = [item.name for item in target.expressions] if isinstance(target, exp.Schema) else []
    table_node = target.this if isinstance(target, exp.Schema) else target
    table = _target(table_node, schema)
    columns = _insert_columns(table, names)
    source = node.expression
    scope = Scope(new_context(schema))
    if isinstance(source, exp.Values):
        queries = tuple(
            _value_row(row, columns, scope, number) for number, row in enumerate(source.expressions, 1)
        )
        return Insert(table, columns if columns else table.columns, queries)
    if source is None:
        raise syntax_error("")
    add_ctes(node, scope)
    query = emit_query(source.this if isinstance(source, exp.Subquery) else source, scope)
    if len(query.kinds) != len(columns):
        raise _count_mismatch(1)
    return Insert(table, columns, (Query(query.sql, query.names, query.kinds),))


def _target(node: exp.Expression, schema: Schema) -> TableDef:
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise syntax_error(mysql_text(node))
    if node.db and node.db != schema.database:
        raise unknown_database(node.db)
    return schema.table(node.name)


def _insert_columns(table: TableDef, names: Sequence[str]) -> tuple[ColumnDef, ...]:
    if not names:
        return table.columns
    columns: list[ColumnDef] = []
    for name in names:
        column = table.find(name)
        if column is None:
            raise unknown_column(name, "field list")
        if column in columns:
            raise SqlFailure(1110, "42000", f"Column '{name}' specified twice")
        columns.append(column)
    return tuple(columns)


def _count_mismatch(row: int) -> SqlFailure:
    return SqlFailure(1136, "21S01", f"Column count doesn't match value count at row {row}")


def _value_row(row: exp.Expression, columns: Sequence[ColumnDef], scope: Scope, number: int) -> Query:
    cells = row.expressions if isinstance(row, exp.Tuple) else [row]
    if len(cells) != len(columns):
        raise _count_mismatch(number)
    values = [_value(cell, column, scope) for cell, column in zip(cells, columns, strict=True)]
    sql = "SELECT " + ", ".join(value.sql for value in values)
    return Query(sql, (), tuple(value.kind for value in values))


def _is_default(node: exp.Expression) -> bool:
    bare = isinstance(node, exp.Var) or (isinstance(node, exp.Column) and not node.table)
    return bare and node.name.upper() == "DEFAULT"


def _value(node: exp.Expression, column: ColumnDef, scope: Scope) -> Emitted:
    if not _is_default(node):
        return emit(node, scope)
    if column.default is None:
        return Emitted("NULL", NULL)
    return emit(parse_statement(f"SELECT {column.default}").expressions[0], scope)


def plan_update(node: exp.Expression, schema: Schema) -> Update:
    """UPDATE of one table or of joined tables. Raises SqlFailure."""
    refuse_unread(node, {"this", "expressions", "where", "order", "limit", "with"})
    scope = Scope(new_context(schema))
    add_ctes(node, scope)
    pieces = emit_from(node.this, node.args.get("joins") or [], scope)
    scope.context.locked_table = scope.sources[0].table
    several = len(scope.sources) > 1
    if not node.expressions:
        raise syntax_error("")
    found: list[tuple[Source, ColumnDef, Emitted]] = []
    for item in node.expressions:
        if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column):
            raise syntax_error(mysql_text(item))
        owner, column = _assigned_column(item.this, scope, schema)
        value = _value(item.expression, column, scope)
        found.append((owner, column, value))
        if not several:
            # A later assignment of the same UPDATE reads the new value.
            scope.assigned[f"{quote_name(owner.alias)}.{quote_name(column.name)}"] = _stored(value, column)
    scope.assigned.clear()
    targets: list[tuple[str, int, tuple[Assignment, ...]]] = []
    values: list[str] = []
    owners = list({owner.alias: owner for owner, _, _ in found}.values())
    for position, owner in enumerate(owners):
        assignments = []
        for item_owner, column, value in found:
            if item_owner is owner:
                assignments.append(Assignment(column, len(owners) + len(values), value.kind))
                values.append(value.sql)
        targets.append((owner.table or "", position, tuple(assignments)))
    ids = [owner.order for owner in owners]
    return Update(_reading(node, scope, pieces, [*ids, *values]), tuple(targets))


def _stored(value: Emitted, column: ColumnDef) -> str:
    """A new value as the column will hold it."""
    if column.kind == INT and value.kind != INT:
        return f"my_round_half_up({as_number(value)})"
    return as_text(value) if column.kind == TEXT else value.sql


def _assigned_column(node: exp.Column, scope: Scope, schema: Schema) -> tuple[Source, ColumnDef]:
    scope.clause = "field list"
    read = scope.column(node)  # raises for unknown and ambiguous names
    for source in scope.sources:
        for column in source.columns:
            if column.sql == read.sql or (
                column.name.lower() == node.name.lower() and (not node.table or source.alias == node.table)
            ):
                if source.table is None:
                    raise SqlFailure(
                        1288, "HY000", f"The target table {source.alias} of the UPDATE is not updatable"
                    )
                definition = schema.table(source.table).find(column.name)
                if definition is not None:
                    return source, definition
    raise unknown_column(node.name, "field list")


def _reading(node: exp.Expression, scope: Scope, pieces: From, columns: Sequence[str]) -> str:
    """The query that reads row ids and new values, in MySQL's order of rows."""
    text = f"SELECT {', '.join(columns)} FROM {emit_joins(pieces, scope)}"
    where = part(node, "where")
    if where is not None:
        scope.clause = "where clause"
        text += f" WHERE {as_condition(emit(where.this, scope))}"
    order, limit = part(node, "order"), limit_text(node)
    if len(scope.sources) > 1 and (order is not None or limit):
        raise SqlFailure(1221, "HY000", "Incorrect usage of UPDATE and ORDER BY")
    keys: list[str] = []
    for item in order.expressions if order is not None else ():
        scope.clause = "order clause"
        keys.append(f"{collated(emit(item.this, scope))} {'DESC' if item.args.get('desc') else 'ASC'}")
    keys += [s.order for s in scope.sources]
    if scope.context.reads_target:
        raise target_in_subquery(scope.context.locked_table or "")
    return f"{text} ORDER BY {', '.join(keys)}{limit}"


def plan_delete(node: exp.Expression, schema: Schema) -> Delete:
    """DELETE from one table, or from some of joined tables. Raises SqlFailure."""
    refuse_unread(node, {"this", "tables", "using", "where", "order", "limit", "with"})
    scope = Scope(new_context(schema))
    add_ctes(node, scope)
    using = node.args.get("using") or []
    listed = [*(node.args.get("tables") or []), *([node.this] if using else [])]
    pieces = emit_from(using[0] if using else node.this, node.args.get("joins") or [], scope)
    owners = [_listed(item, scope) for item in listed] or [scope.sources[0]]
    scope.context.locked_table = owners[0].table
    sql = _reading(node, scope, pieces, [owner.order for owner in owners])
    return Delete(sql, tuple(owner.table or "" for owner in owners))


def _listed(node: exp.Expression, scope: Scope) -> Source:
    for source in scope.sources:
        if source.alias == node.name and source.table is not None:
            return source
    raise SqlFailure(1109, "42S02", f"Unknown table '{node.name}' in MULTI DELETE")
