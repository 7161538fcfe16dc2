"""Whole queries: SELECT, set operations, and common table expressions around them."""

from __future__ import annotations

from sqlglot import exp

from perdure.environments.database.sqlite.calls import emit_call
from perdure.environments.database.sqlite.failure import syntax_error, unknown_column
from perdure.environments.database.sqlite.kinds import TEXT, Kind, unify
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.operands import coerced, quote_name
from perdure.environments.database.sqlite.schema import Schema
from perdure.environments.database.sqlite.scope import Context, Cte, Emitted, QueryText, Scope
from perdure.environments.database.sqlite.select import emit_select, limit_text, same_arity
from perdure.environments.database.sqlite.sources import check_distinct_names, part

_WORDS: dict[type[exp.Expression], str] = {
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
}


def new_context(schema: Schema) -> Context:
    """The shared state of one statement."""
    return Context(schema, emit_query, emit_call)


def emit_query(node: exp.Expression, parent: Scope) -> QueryText:
    """A SELECT or a set operation, inside the scope around it."""
    if isinstance(node, exp.Subquery):
        return _parenthesised(node, parent)
    scope = Scope(parent.context, parent=parent)
    add_ctes(node, scope)
    if isinstance(node, exp.SetOperation):
        return _set_operation(node, scope)
    if isinstance(node, exp.Select):
        return emit_select(node, scope)
    raise syntax_error(mysql_text(node))


def _parenthesised(node: exp.Subquery, parent: Scope) -> QueryText:
    query = emit_query(node.this, parent)
    if part(node, "order") is None and node.args.get("limit") is None:
        return query
    return _reordered(node, query)


def add_ctes(node: exp.Expression, scope: Scope) -> None:
    """Make the WITH of a statement visible in its scope."""
    clause = part(node, "with")
    if clause is None:
        return
    for item in clause.expressions:
        alias = item.args["alias"]
        names = tuple(column.name for column in alias.args.get("columns") or ())
        recursive = bool(clause.args.get("recursive")) and isinstance(item.this, exp.SetOperation)
        make = _recursive if recursive else _plain
        scope.ctes = {**scope.ctes, item.alias: make(item.alias, item.this, names, scope)}


def _renamed(query: QueryText, names: tuple[str, ...]) -> Cte:
    if not names:
        check_distinct_names(query.names)
        return Cte(query.sql, query.names, query.kinds)
    same_arity(names, query.names)
    header = ", ".join(quote_name(name) for name in names)
    sql = f"WITH my_cte({header}) AS ({query.sql}) SELECT * FROM my_cte"
    return Cte(sql, names, query.kinds)


def _plain(name: str, body: exp.Expression, names: tuple[str, ...], scope: Scope) -> Cte:
    return _renamed(emit_query(body, scope), names)


def _recursive(name: str, body: exp.Expression, names: tuple[str, ...], scope: Scope) -> Cte:
    if not any(table.name == name for table in body.expression.find_all(exp.Table)):
        return _plain(name, body, names, scope)
    anchor = emit_query(body.this, scope)
    columns = names or anchor.names
    same_arity(columns, anchor.kinds)
    inner = Scope(scope.context, parent=scope)
    inner.ctes = {name: Cte(quote_name(name), columns, anchor.kinds, recursing=True)}
    step = emit_select(body.expression, Scope(scope.context, parent=inner), plain=True)
    same_arity(anchor.kinds, step.kinds)
    word = "UNION" if body.args.get("distinct") else "UNION ALL"
    header = ", ".join(quote_name(column) for column in columns)
    # The anchor is wrapped because a part of a compound may not have an ORDER BY of its own.
    sql = (
        f"WITH RECURSIVE {quote_name(name)}({header}) AS (SELECT * FROM ({anchor.sql}) {word} {step.sql}) "
        f"SELECT * FROM {quote_name(name)}"
    )
    return Cte(sql, columns, anchor.kinds)


def _set_operation(node: exp.SetOperation, scope: Scope) -> QueryText:
    left, right = emit_query(node.this, scope), emit_query(node.expression, scope)
    same_arity(left.kinds, right.kinds)
    kinds = tuple(unify(pair) for pair in zip(left.kinds, right.kinds, strict=True))
    sides = f"{_side(left, kinds)} {{}} {_side(right, kinds)}"
    if isinstance(node, exp.Union):
        # SQLite sorts a UNION; DISTINCT keeps the order of first appearance.
        distinct = "DISTINCT " if node.args.get("distinct") else ""
        columns = ", ".join(
            f"{_column(i, kind)} AS {quote_name(name)}"
            for i, (name, kind) in enumerate(zip(left.names, kinds, strict=True))
        )
        sql = f"SELECT {distinct}{columns} FROM ({sides.format('UNION ALL')})"
    else:
        columns = ", ".join(f'"c{i}" AS {quote_name(name)}' for i, name in enumerate(left.names))
        sql = f"SELECT {columns} FROM ({sides.format(_WORDS[type(node)])})"
    return _reordered(node, QueryText(sql, left.names, kinds, (*left.loose, *right.loose)))


def _column(index: int, kind: Kind) -> str:
    return f'("c{index}" COLLATE my_ci)' if kind == TEXT else f'"c{index}"'


def _side(query: QueryText, kinds: tuple[Kind, ...]) -> str:
    header = ", ".join(f'"c{i}"' for i in range(len(kinds)))
    columns = ", ".join(
        f'{coerced(Emitted(f"""s."c{i}" """.strip(), own), kind)} AS "c{i}"'
        for i, (own, kind) in enumerate(zip(query.kinds, kinds, strict=True))
    )
    return f"SELECT {columns} FROM (WITH s({header}) AS ({query.sql}) SELECT * FROM s) AS s"


def _reordered(node: exp.Expression, query: QueryText) -> QueryText:
    """ORDER BY and LIMIT of a set operation or a parenthesised query: names and positions only."""
    order, limit = part(node, "order"), limit_text(node)
    if order is None and not limit:
        return query
    keys = []
    for item in order.expressions if order is not None else ():
        index = _order_index(item.this, query)
        direction = "DESC" if item.args.get("desc") else "ASC"
        collate = " COLLATE my_ci" if query.kinds[index] == TEXT else ""
        keys.append(f"{quote_name(query.names[index])}{collate} {direction}")
    text = f"SELECT * FROM ({query.sql})"
    if keys:
        text += " ORDER BY " + ", ".join(keys)
    return QueryText(
        text + limit,
        query.names,
        query.kinds,
        query.loose,
        single_row=limit == " LIMIT 1",
    )


def _order_index(node: exp.Expression, query: QueryText) -> int:
    if isinstance(node, exp.Literal) and node.name.isdigit() and 1 <= int(node.name) <= len(query.names):
        return int(node.name) - 1
    lowered = [name.lower() for name in query.names]
    if node.name.lower() in lowered:
        return lowered.index(node.name.lower())
    raise unknown_column(node.name, "order clause")
