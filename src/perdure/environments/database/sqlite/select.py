"""SELECT as MySQL runs it: aliases, ONLY_FULL_GROUP_BY, and its incidental order of rows.

Where a statement does not order its result, MySQL emits groups and ties in the order in which their rows
first appear. Published answers depend on it, so every query is ordered that way explicitly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from perdure.environments.database.sqlite.arguments import refuse_unread
from perdure.environments.database.sqlite.dependencies import determined_columns
from perdure.environments.database.sqlite.expressions import emit
from perdure.environments.database.sqlite.failure import (
    SqlFailure,
    mixed_with_aggregate,
    not_in_distinct,
    not_in_group_by,
    order_aggregates,
    syntax_error,
    unknown_column,
)
from perdure.environments.database.sqlite.kinds import TEXT
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.operands import as_condition, collated, quote_name
from perdure.environments.database.sqlite.scope import Emitted, QueryText, Scope, gather
from perdure.environments.database.sqlite.sources import emit_from, emit_joins, is_dual, part


@dataclass
class _Select:
    """The parts of one SELECT on their way to text."""

    node: exp.Expression
    scope: Scope
    source: str = ""
    names: tuple[str, ...] = ()
    items: tuple[Emitted, ...] = ()
    where: str = ""
    group: tuple[Emitted, ...] = ()
    having: str = ""
    order: tuple[tuple[Emitted, bool], ...] = ()
    filters: tuple[Emitted, ...] = ()
    aggregated: bool = False

    @property
    def distinct(self) -> bool:
        return self.node.args.get("distinct") is not None


def emit_select(
    node: exp.Expression, scope: Scope, *, plain: bool = False, sortable: bool = False
) -> QueryText:
    """One SELECT inside its own scope. `plain` leaves the incidental order out (recursive parts);
    `sortable` adds the sort keys to the columns, so that ties can be put in filesort's order.
    """
    refuse_unread(node, _CLAUSES)
    if node.args.get("distinct") is not None:
        refuse_unread(node.args["distinct"], frozenset())
    select = _Select(node, scope)
    source = part(node, "from")
    if source is not None and is_dual(source.this):
        source = None
    joins = node.args.get("joins") or []
    pieces = emit_from(source.this, joins, scope) if source is not None else []
    _select_list(select)
    where = part(node, "where")
    if where is not None:
        scope.clause = "where clause"
        condition = emit(where.this, scope)
        select.where, select.filters = as_condition(condition), (condition,)
    select.source = emit_joins(pieces, scope)
    _group_by(select)
    _having(select)
    _order_by(select)
    _check_distinct(select)
    _check_groups(select)
    limit = limit_text(node)
    sortable = sortable and bool(select.order) and not limit and not select.distinct
    text = _assemble(select, limit, plain, sortable)
    parts = [*select.items, *select.filters, *select.group, *(key for key, _ in select.order)]
    outer = tuple(item for item in gather(parts)[0] if item[0] != scope.id)
    return QueryText(
        text,
        select.names,
        tuple(item.kind for item in select.items),
        outer,
        single_row=(select.aggregated and not select.group) or source is None or limit == " LIMIT 1",
        sort_keys=tuple(key.kind for key, _ in select.order) if sortable else (),
    )


_CLAUSES = frozenset(
    {"expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset", "distinct"}
    | {"with", "locks", "hint", "operation_modifiers"}
)


def _select_list(select: _Select) -> None:
    scope = select.scope
    scope.clause = "field list"
    scope.pending = frozenset(
        item.alias.lower() for item in select.node.expressions if isinstance(item, exp.Alias)
    )
    names: list[str] = []
    items: list[Emitted] = []
    for node in select.node.expressions:
        for name, item in _expanded(node, scope):
            names.append(name)
            items.append(item)
    if not items:
        raise syntax_error("")
    select.names, select.items = tuple(names), tuple(items)
    scope.aliases = {}
    for name, item in zip(names, items, strict=True):
        scope.aliases.setdefault(name.lower(), item)


def _expanded(node: exp.Expression, scope: Scope) -> list[tuple[str, Emitted]]:
    if isinstance(node, exp.Alias):
        return [(node.alias, emit(node.this, scope))]
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        return _star(node, scope)
    if isinstance(node, exp.Column):
        return [(node.name, emit(node, scope))]
    name = mysql_text(node)
    return [(name, emit(node, scope))]


def _star(node: exp.Expression, scope: Scope) -> list[tuple[str, Emitted]]:
    refuse_unread(node.this if isinstance(node, exp.Column) else node, frozenset())
    table = node.args.get("table")
    wanted = table.name if isinstance(table, exp.Expression) else ""
    sources = [s for s in scope.sources if not wanted or s.alias == wanted]
    if wanted and not sources:
        raise SqlFailure(1051, "42S02", f"Unknown table '{wanted}'")
    if not sources:
        raise SqlFailure(1096, "HY000", "No tables used")
    columns: list[tuple[str, Emitted]] = []
    merged: set[str] = set()
    for source in sources:
        for column in source.columns:
            name = column.name.lower()
            if name in scope.merged and not wanted:
                if name in merged:
                    continue
                merged.add(name)
            loose = () if column.sql in scope.group_keys else ((scope.id, column.origin),)
            columns.append((column.name, Emitted(column.sql, column.kind, loose)))
    return columns


def _positional(node: exp.Expression, select: _Select) -> Emitted | None:
    if not (isinstance(node, exp.Literal) and not node.args.get("is_string")):
        return None
    index = int(node.name) if node.name.isdigit() else 0
    if not 1 <= index <= len(select.items):
        raise unknown_column(node.name, select.scope.clause)
    return select.items[index - 1]


def _group_by(select: _Select) -> None:
    node, scope = part(select.node, "group"), select.scope
    if node is None:
        return
    if any(node.args.get(key) for key in ("rollup", "cube", "grouping_sets")):
        raise SqlFailure(1235, "42000", "This version of MySQL doesn't yet support 'ROLLUP'")
    scope.clause = "group statement"
    keys: list[Emitted] = []
    for item in node.expressions:
        key = _positional(item, select) or emit(item, scope)
        if key.aggregated:
            raise SqlFailure(1056, "42000", f"Can't group on '{item.name}'")
        keys.append(key)
    select.group = tuple(keys)
    scope.group_keys = frozenset(key.sql for key in keys)
    _select_list(select)


def _having(select: _Select) -> None:
    node, scope = part(select.node, "having"), select.scope
    if node is None:
        select.aggregated = any(item.aggregated for item in select.items) or bool(select.group)
        return
    scope.clause = "having clause"
    scope.visible = scope.group_keys | {item.sql for item in select.items}
    condition = emit(node.this, scope)
    select.aggregated = (
        condition.aggregated or any(item.aggregated for item in select.items) or bool(select.group)
    )
    select.filters += (condition,)
    text = as_condition(condition)
    if select.aggregated:
        select.having = text
    else:  # a filter over the select list
        select.where = f"({select.where}) AND {text}" if select.where else text


def _order_by(select: _Select) -> None:
    node, scope = part(select.node, "order"), select.scope
    if node is None:
        return
    scope.clause = "order clause"
    keys: list[tuple[Emitted, bool]] = []
    for item in node.expressions:
        inner = item.this
        key = _positional(inner, select)
        if key is None and isinstance(inner, exp.Column) and not inner.table:
            key = scope.aliases.get(inner.name.lower())
        keys.append((key or emit(inner, scope), bool(item.args.get("desc"))))
    select.order = tuple(keys)
    for position, (key, _) in enumerate(keys, 1):
        if key.aggregated and not select.aggregated and any(item.loose for item in select.items):
            raise order_aggregates(position)
    select.aggregated = select.aggregated or any(key.aggregated for key, _ in keys)


def _check_distinct(select: _Select) -> None:
    """With DISTINCT, ORDER BY reads columns of the select list only."""
    if not select.distinct or select.aggregated:
        return
    listed = {item.sql for item in select.items}
    columns = {found for item in select.items for found in item.loose}
    for position, (key, _) in enumerate(select.order, 1):
        for owner, column in key.loose:
            if key.sql not in listed and owner == select.scope.id and (owner, column) not in columns:
                raise not_in_distinct(position, column)


def _check_groups(select: _Select) -> None:
    """ONLY_FULL_GROUP_BY, part of MySQL 8's default mode."""
    if not select.aggregated:
        return
    scope = select.scope
    known = determined_columns(select.node, scope)
    checks = [(item, i, "SELECT list") for i, item in enumerate(select.items, 1)]
    if select.group:  # without groups there is one row, and its order is not looked at
        checks += [(key, i, "ORDER BY clause") for i, (key, _) in enumerate(select.order, 1)]
    for item, position, clause in checks:
        for scope_id, column in item.loose:
            if scope_id == scope.id and column not in known:
                failure = not_in_group_by if select.group else mixed_with_aggregate
                raise failure(position, column, clause)


def limit_text(node: exp.Expression) -> str:
    """LIMIT and OFFSET; MySQL takes whole literals only, and no OFFSET alone."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return ""
    if limit is None or not isinstance(limit, exp.Limit):
        raise syntax_error("OFFSET")
    texts = []
    for clause in (limit, offset):
        if clause is not None:
            value = clause.expression
            if not (isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit()):
                raise syntax_error(mysql_text(value))
            texts.append(str(min(int(value.name), 2**63 - 1)))
    return f" LIMIT {' OFFSET '.join(texts)}"


def _incidental_order(select: _Select, plain: bool) -> list[str]:
    sources = select.scope.sources
    if plain or not sources:
        return []
    if select.group and _reads_an_index(select):
        return [collated(select.group[0])]
    if select.group:
        first = sources[0].order
        for source in sources[1:]:
            first = f"({first}) * 1000000 + COALESCE({source.order}, 0)"
        return [f"MIN({first})"]
    if select.aggregated or any(item.windowed for item in select.items):
        return []
    if select.order or (len(sources) > 1 and not select.distinct):
        return [source.order for source in sources]
    return []


def _reads_an_index(select: _Select) -> bool:
    """MySQL groups the rows of one table in the order of an index, where that gives it all it reads."""
    sources = select.scope.sources
    if len(sources) != 1 or len(select.group) != 1 or part(select.node, "where") is not None:
        return False
    column = next((c for c in sources[0].columns if c.sql == select.group[0].sql), None)
    if column is None or not column.index:
        return False
    read = {node.name.lower() for node in select.node.find_all(exp.Column)} - select.scope.pending
    return column.index == "whole" or read <= {column.name.lower()}


def _assemble(select: _Select, limit: str, plain: bool, sortable: bool) -> str:
    columns = ", ".join(
        f"{collated(item) if select.distinct and item.kind == TEXT else item.sql} AS {quote_name(name)}"
        for name, item in zip(select.names, select.items, strict=True)
    )
    incidental = _incidental_order(select, plain)
    if sortable:
        columns += "".join(f", {key.sql}" for key, _ in select.order)
        columns += "".join(f", {place}" for place in incidental)
    text = f"SELECT {'DISTINCT ' if select.distinct else ''}{columns}"
    if select.source:
        text += f" FROM {select.source}"
    if select.where:
        text += f" WHERE {select.where}"
    if select.group:
        text += " GROUP BY " + ", ".join(_group_key(key, select.scope) for key in select.group)
    if select.having:
        text += f" HAVING {select.having}"
    order = [f"{collated(key)} {'DESC' if down else 'ASC'}" for key, down in select.order]
    order += incidental
    if order:
        text += " ORDER BY " + ", ".join(order)
    return text + limit


def _group_key(key: Emitted, scope: Scope) -> str:
    # SQLite takes a bare number for a column's position and cannot group by an outer query's column; both
    # are constant here, so that any constant makes the same one group.
    own = any(owner == scope.id for owner, _ in key.loose)
    return collated(key) if own else "'constant'"


def same_arity(kinds: Sequence[object], others: Sequence[object]) -> None:
    """Raise SqlFailure 1222 unless two queries have as many columns."""
    if len(kinds) != len(others):
        raise SqlFailure(1222, "21000", "The used SELECT statements have a different number of columns")
