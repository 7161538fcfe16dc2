"""What MySQL refuses while it reads a statement, before it looks at any table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from perdure.environments.database.sqlite.failure import SqlFailure, syntax_error, unsupported
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.reserved_words import RESERVED

_LONGEST_NAME = 64
_CAST_TYPES = frozenset(
    {"BINARY", "CHAR", "NCHAR", "DATE", "DATETIME", "TIMESTAMP", "TIME", "DECIMAL", "DOUBLE", "FLOAT", "JSON"}
    | {"BIGINT", "UBIGINT", "SIGNED", "UNSIGNED", "YEAR"}
)
"""Types that CAST takes, by the parser's names."""


def check_grammar(tree: exp.Expression) -> None:
    """Raise SqlFailure for what is wrong whatever the tables are; the errors of syntax come first."""
    nodes = [node for node in tree.walk() if isinstance(node, exp.Expression)]
    for table in (_SYNTAX, _MEANING):
        for node in nodes:
            check = table.get(type(node))
            if check is not None:
                check(node)


def _is(node: exp.Expression) -> None:
    """IS takes NULL, TRUE, FALSE and UNKNOWN."""
    other = node.expression
    unknown = isinstance(other, exp.Var | exp.Column) and other.name.upper() == "UNKNOWN"
    if not isinstance(other, exp.Null | exp.Boolean) and not unknown:
        raise syntax_error(mysql_text(other) if isinstance(other, exp.Expression) else "")


def _in(node: exp.Expression) -> None:
    if not node.expressions and node.args.get("query") is None:
        raise syntax_error("")


def _cast(node: exp.Expression) -> None:
    target = node.args["to"]
    kind = target.this if isinstance(target, exp.DataType) else target
    name = kind.name if isinstance(kind, exp.DataType.Type) else str(kind)
    if name.upper() not in _CAST_TYPES:
        raise syntax_error(f"{mysql_text(target)})")


def _column(node: exp.Expression) -> None:
    """A reserved word is no name, except after a dot."""
    name = node.this
    bare = isinstance(name, exp.Identifier) and not name.args.get("quoted") and not node.args.get("table")
    if bare and node.name.lower() in RESERVED:
        raise syntax_error(node.name)


def _table(node: exp.Expression) -> None:
    if node.args.get("catalog") is not None:
        raise syntax_error(f".{node.name}")


def _long_name(node: exp.Expression) -> None:
    if len(node.name) > _LONGEST_NAME:
        raise SqlFailure(1059, "42000", f"Identifier name '{node.name}' is too long")


def _limit_in_subquery(node: exp.Expression) -> None:
    """IN, ANY and ALL take no subquery with a LIMIT."""
    query = node.args.get("query") if isinstance(node, exp.In) else node.this
    while isinstance(query, exp.Subquery) and query.args.get("limit") is None:
        query = query.this
    if isinstance(query, exp.Query) and query.args.get("limit") is not None:
        raise unsupported("LIMIT & IN/ALL/ANY/SOME subquery")


def _sources(node: exp.Expression) -> None:
    """FROM items have names, and no two the same."""
    source = node.args.get("from_") or node.args.get("from")
    items = [source.this] if isinstance(source, exp.From) else []
    items += [join.this for join in node.args.get("joins") or ()]
    seen: set[tuple[str, str]] = set()
    for item in items:
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query) and not item.alias:
            raise SqlFailure(1248, "42000", "Every derived table must have its own alias")
        if isinstance(item, exp.Table):
            key = ("" if item.alias else item.db, item.alias or item.name)
            if key in seen:
                raise SqlFailure(1066, "42000", f"Not unique table/alias: '{key[1]}'")
            seen.add(key)


_Checks = Mapping[type[exp.Expression], Callable[[exp.Expression], None]]
_SYNTAX: _Checks = {exp.Is: _is, exp.In: _in, exp.Cast: _cast, exp.Column: _column, exp.Table: _table}
_MEANING: _Checks = {
    exp.Identifier: _long_name,
    exp.In: _limit_in_subquery,
    exp.Any: _limit_in_subquery,
    exp.All: _limit_in_subquery,
    exp.Select: _sources,
}
