"""FROM: tables, derived tables, common table expressions and joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from perdure.environments.database.sqlite.arguments import refuse_unread
from perdure.environments.database.sqlite.expressions import emit
from perdure.environments.database.sqlite.failure import (
    SqlFailure,
    syntax_error,
    unknown_column,
    unknown_table,
)
from perdure.environments.database.sqlite.information_schema import DATABASE, system_table
from perdure.environments.database.sqlite.kinds import Kind
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.operands import as_condition, quote_name
from perdure.environments.database.sqlite.scope import Scope, Source, SourceColumn

ORDER_COLUMN = "my_n"
"""Numbers the rows of a derived table in their incidental order."""


def part(node: exp.Expression, key: str) -> exp.Expression | None:
    """A clause of a statement; its key carries an underscore where it is a Python keyword."""
    found = node.args.get(f"{key}_") or node.args.get(key)
    return found if isinstance(found, exp.Expression) else None


@dataclass(frozen=True)
class _On:
    """An ON condition, to be read when the select list has been: MySQL reports errors in that order."""

    condition: exp.Expression
    sources: int
    """How many sources it may name."""


From: TypeAlias = list[str | _On]
"""The text after FROM, its ON conditions still as trees."""


def is_dual(node: exp.Expression) -> bool:
    """`FROM DUAL`, which means no table at all."""
    return isinstance(node, exp.Table) and not node.db and node.name.lower() == "dual"


def emit_from(first: exp.Expression, joins: Sequence[exp.Expression], scope: Scope) -> From:
    """Add every source to the scope; `emit_joins` gives the text."""
    pieces = _item(first, scope)
    for join in joins:
        pieces += _join(join, scope)
    return pieces


def emit_joins(pieces: From, scope: Scope) -> str:
    """The text after FROM, with its ON conditions read in the scope."""
    clause, scope.clause = scope.clause, "on clause"
    sources, texts = scope.sources, []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        scope.sources = sources[: piece.sources]
        texts.append(f"ON {as_condition(emit(piece.condition, scope))}")
    scope.sources, scope.clause = sources, clause
    return " ".join(texts)


def _item(node: exp.Expression, scope: Scope) -> From:
    if isinstance(node, exp.Table):
        text, source = _table(node, scope)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        return emit_from(node.this, _joins(node), scope)
    elif isinstance(node, exp.Subquery):
        text, source = _derived(node, scope)
    else:
        raise syntax_error(mysql_text(node))
    if any(s.alias == source.alias for s in scope.sources):
        raise SqlFailure(1066, "42000", f"Not unique table/alias: '{source.alias}'")
    scope.sources.append(source)
    pieces: From = [text]
    for join in _joins(node):
        pieces += _join(join, scope)
    return pieces


def _joins(node: exp.Expression) -> list[exp.Expression]:
    return list(node.args.get("joins") or ())


def _table(node: exp.Table, scope: Scope) -> tuple[str, Source]:
    refuse_unread(node, {"this", "db", "alias", "joins", "hints"})
    if not isinstance(node.this, exp.Identifier):
        raise syntax_error(mysql_text(node))
    name, database = node.name, node.db
    alias = node.alias or name
    cte = scope.cte(name) if not database else None
    if cte is not None:
        if cte.recursing:
            text = f"{cte.sql} AS {quote_name(alias)}"
            return text, _source(alias, cte.names, cte.kinds, "1")
        return _numbered(cte.sql, alias), _source(alias, cte.names, cte.kinds)
    schema = scope.context.schema
    if database.lower() == DATABASE:
        return system_table(name, alias, schema)
    if database and database != schema.database:
        raise unknown_table(database, name)
    table = schema.table(name)
    if scope.context.locked_table == name:
        scope.context.reads_target = True
    quoted = quote_name(alias)
    alone = sum(column.key for column in table.columns) == 1
    columns = tuple(
        SourceColumn(
            c.name,
            c.kind,
            f"{quoted}.{quote_name(c.name)}",
            f"{schema.database}.{alias}.{c.name}",
            c.key,
            "whole" if c.key and alone else "covering" if c.index else "",
        )
        for c in table.columns
    )
    return f"{quote_name(name)} AS {quoted}", Source(alias, columns, f"{quoted}._rowid_", name)


def _numbered(sql: str, alias: str) -> str:
    return f'(SELECT *, row_number() OVER () AS "{ORDER_COLUMN}" FROM ({sql})) AS {quote_name(alias)}'


def _source(alias: str, names: Sequence[str], kinds: Sequence[Kind], order: str | None = None) -> Source:
    quoted = quote_name(alias)
    columns = tuple(
        SourceColumn(name, kind, f"{quoted}.{quote_name(name)}", f"{alias}.{name}")
        for name, kind in zip(names, kinds, strict=True)
    )
    return Source(alias, columns, order or f'{quoted}."{ORDER_COLUMN}"')


def _derived(node: exp.Subquery, scope: Scope) -> tuple[str, Source]:
    alias = node.alias
    if not alias:
        raise SqlFailure(1248, "42000", "Every derived table must have its own alias")
    context = scope.context
    locked, context.locked_table = context.locked_table, None  # a derived table is a copy of its own
    outer = scope.parent or Scope(context)
    outer_view = Scope(context, parent=outer, ctes=scope.ctes)
    try:
        query = context.query(node.this, outer_view)
    finally:
        context.locked_table = locked
    table_alias = node.args.get("alias")
    renamed = [c.name for c in table_alias.args.get("columns") or ()] if table_alias else []
    sql, names = query.sql, query.names
    check_distinct_names(names)
    if renamed:
        names = tuple(renamed)
        columns = ", ".join(
            f"{quote_name(old)} AS {quote_name(new)}" for old, new in zip(query.names, names, strict=True)
        )
        sql = f"SELECT {columns} FROM ({sql})"
    return _numbered(sql, alias), _source(alias, names, query.kinds)


def check_distinct_names(names: Sequence[str]) -> None:
    """Raise SqlFailure 1060 when two columns of a table share a name."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SqlFailure(1060, "42S21", f"Duplicate column name '{name}'")
        seen.add(name.lower())


def _join(node: exp.Expression, scope: Scope) -> From:
    refuse_unread(node, {"this", "side", "kind", "on", "using", "method"})
    side = str(node.args.get("side") or "").upper()
    kind = str(node.args.get("kind") or "").upper()
    method = str(node.args.get("method") or "").upper()
    condition, using = node.args.get("on"), node.args.get("using") or []
    if side not in ("", "LEFT", "RIGHT") or kind not in ("", "INNER", "CROSS", "OUTER", "STRAIGHT"):
        raise syntax_error(mysql_text(node))
    if side and condition is None and not using and method != "NATURAL":
        raise syntax_error("")
    before = list(scope.sources)
    item = _item(node.this, scope)
    if method == "NATURAL":
        right = {c.name.lower() for s in scope.sources[len(before) :] for c in s.columns}
        names = [c.name for s in before for c in s.columns if c.name.lower() in right]
    else:
        names = [column.name for column in using]
        _check_using(names, before, scope)
    pieces: From = [f"{side} JOIN".strip(), *item]
    if names:
        scope.merged = scope.merged | {name.lower() for name in names}
        pieces.append(f"USING ({', '.join(quote_name(n) for n in names)})")
    elif condition is not None:
        pieces.append(_On(condition, len(scope.sources)))
    return pieces


def _check_using(names: Sequence[str], before: Sequence[Source], scope: Scope) -> None:
    after = scope.sources[len(before) :]
    for name in names:
        for side in (before, after):
            if not any(c.name.lower() == name.lower() for s in side for c in s.columns):
                raise unknown_column(name, "from clause")
