"""Which columns one row of a group determines, beyond the GROUP BY columns themselves."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from perdure.environments.database.sqlite.scope import Scope, SourceColumn
from perdure.environments.database.sqlite.sources import part


def determined_columns(node: exp.Expression, scope: Scope) -> frozenset[str]:
    """Origins of functionally dependent columns (MySQL 8 reference, group-by-functional-dependence).

    A column is determined by a constant or by a determined column that it equals in WHERE or in an inner
    join, and by the whole primary key of its table.
    """
    known = {c.origin for s in scope.sources for c in s.columns if c.sql in scope.group_keys}
    equalities = list(_equalities(node))
    while True:
        before = len(known)
        for left, right in equalities:
            for one, other in ((left, right), (right, left)):
                column = _find(one, scope)
                if column is not None and _is_known(other, scope, known):
                    known.add(column.origin)
        for source in scope.sources:
            keys = [c.origin for c in source.columns if c.key]
            if keys and known.issuperset(keys):
                known.update(c.origin for c in source.columns)
        if len(known) == before:
            return frozenset(known)


def _equalities(node: exp.Expression) -> Iterator[tuple[exp.Expression, exp.Expression]]:
    conditions = [join.args.get("on") for join in node.args.get("joins") or () if not join.args.get("side")]
    where = part(node, "where")
    pending = [c for c in [*conditions, where.this if where is not None else None] if c is not None]
    while pending:
        condition = pending.pop()
        if isinstance(condition, exp.And):
            pending += [condition.this, condition.expression]
        elif isinstance(condition, exp.Paren):
            pending.append(condition.this)
        elif isinstance(condition, exp.EQ):
            yield condition.this, condition.expression


def _find(node: exp.Expression, scope: Scope) -> SourceColumn | None:
    if not isinstance(node, exp.Column):
        return None
    for source in scope.sources:
        if node.table and source.alias != node.table:
            continue
        for column in source.columns:
            if column.name.lower() == node.name.lower():
                return column
    return None


def _is_known(node: exp.Expression, scope: Scope, known: set[str]) -> bool:
    if isinstance(node, exp.Literal | exp.Boolean):
        return True
    column = _find(node, scope)
    return column is not None and column.origin in known
