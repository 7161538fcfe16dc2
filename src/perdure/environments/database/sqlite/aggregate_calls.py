"""Aggregate and window functions: what they return, and where they may stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from perdure.environments.database.sqlite.expressions import emit
from perdure.environments.database.sqlite.failure import (
    invalid_group_function,
    syntax_error,
    unknown_function,
    wrong_argument_count,
)
from perdure.environments.database.sqlite.kinds import DIVISION_DECIMALS, DOUBLE, INT, TEXT, Kind, decimal
from perdure.environments.database.sqlite.marking import PREFIX, mysql_text
from perdure.environments.database.sqlite.operands import as_number, as_text, collated, quote_text
from perdure.environments.database.sqlite.scope import Emitted, Scope, gather

_DEVIATIONS = {
    "STD": "my_std",
    "STDDEV": "my_std",
    "STDDEV_POP": "my_std",
    "STDDEV_SAMP": "my_std_sample",
    "VARIANCE": "my_variance",
    "VAR_POP": "my_variance",
    "VAR_SAMP": "my_variance_sample",
}
_BITS = {"BIT_AND": "my_bit_and", "BIT_OR": "my_bit_or", "BIT_XOR": "my_bit_xor"}
AGGREGATES = frozenset(
    {"COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "ANY_VALUE", *_DEVIATIONS, *_BITS}
)
_RANKS: Mapping[str, Kind] = {
    "ROW_NUMBER": INT,
    "RANK": INT,
    "DENSE_RANK": INT,
    "NTILE": INT,
    "PERCENT_RANK": DOUBLE,
    "CUME_DIST": DOUBLE,
}
_OFFSETS = frozenset({"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
WINDOWS = frozenset({*_RANKS, *_OFFSETS})


def emit_aggregate(name: str, arguments: Sequence[exp.Expression], scope: Scope) -> Emitted:
    """An aggregate call. Raises SqlFailure 1111 in WHERE, ON, GROUP BY and inside another aggregate."""
    if scope.in_aggregate or scope.clause in ("where clause", "on clause", "group statement"):
        raise invalid_group_function()
    scope.in_aggregate = True
    try:
        sql, kind, parts = _aggregate_text(name, arguments, scope)
    finally:
        scope.in_aggregate = False
    loose, _, _ = gather(parts)
    return Emitted(sql, kind, tuple(item for item in loose if item[0] != scope.id), aggregated=True)


def _aggregate_text(
    name: str, arguments: Sequence[exp.Expression], scope: Scope
) -> tuple[str, Kind, list[Emitted]]:
    if name == "GROUP_CONCAT":
        return _group_concat(arguments[0], scope)
    if len(arguments) != 1:
        raise (
            syntax_error(")") if name in ("SUM", "AVG", "MIN", "MAX", "COUNT") else wrong_argument_count(name)
        )
    argument = arguments[0]
    if isinstance(argument, exp.Star):
        if name != "COUNT":
            raise syntax_error("*)")
        return "COUNT(*)", INT, []
    distinct = isinstance(argument, exp.Distinct)
    values = [emit(v, scope) for v in (argument.expressions if distinct else [argument])]
    word = "DISTINCT " if distinct else ""
    if name == "COUNT":
        if len(values) > 1:
            keys = ", ".join(f"my_key({v.sql})" if v.kind == TEXT else v.sql for v in values)
            return f"COUNT(DISTINCT my_tuple({keys}))", INT, values
        return f"COUNT({word}{collated(values[0])})", INT, values
    return (*_one_value(name, word, values[0]), values)


def _one_value(name: str, word: str, value: Emitted) -> tuple[str, Kind]:
    number = as_number(value)
    if name in ("MIN", "MAX"):
        return f"{name}({collated(value)})", value.kind
    if name == "ANY_VALUE":
        return f"my_first({value.sql})", value.kind
    if name in _BITS:
        return f"{_BITS[name]}(CAST({number} AS INTEGER))", INT
    if name in _DEVIATIONS:
        return f"{_DEVIATIONS[name]}({number})", DOUBLE
    kind = decimal(value.kind.scale) if value.kind.is_exact else DOUBLE
    total = f"SUM({word}{number})"
    if value.kind.name == "decimal":
        total = f"my_exact({total}, {kind.scale})"
    if name == "SUM":
        return total, kind
    average = f"(CAST({total} AS REAL) / COUNT({word}{number}))"
    return average, decimal(kind.scale + DIVISION_DECIMALS) if kind.name == "decimal" else DOUBLE


def _group_concat(node: exp.Expression, scope: Scope) -> tuple[str, Kind, list[Emitted]]:
    inner, separator = node.this, node.args.get("separator")
    order: list[exp.Expression] = []
    if isinstance(inner, exp.Order):
        order, inner = list(inner.expressions), inner.this
    distinct = isinstance(inner, exp.Distinct)
    items = list(inner.expressions) if distinct else [inner]
    if len(items) == 1 and isinstance(items[0], exp.Order):
        order, items = list(items[0].expressions), [items[0].this]
    if len(items) == 1 and isinstance(items[0], exp.Concat) and not items[0].args.get("safe"):
        items = list(items[0].expressions)
    values = [emit(item, scope) for item in items]
    keys = [(emit(o.this, scope), bool(o.args.get("desc"))) for o in order]
    joiner = emit(separator, scope).sql if separator is not None else quote_text(",")
    text = f"my_concat({', '.join(as_text(v) for v in values)})"
    directions = quote_text("".join("d" if down else "a" for _, down in keys))
    sort_keys = "".join(f", {key.sql}" for key, _ in keys)
    sql = f"my_group_concat({text}, {joiner}, {int(distinct)}, {directions}{sort_keys})"
    return sql, TEXT, [*values, *(key for key, _ in keys)]


def emit_window(node: exp.Window, scope: Scope) -> Emitted:
    """A window function with its OVER clause, which may name ranks, offsets and aggregates."""
    function = node.this
    if not isinstance(function, exp.Anonymous):
        raise syntax_error(mysql_text(node))
    name = str(function.this).removeprefix(PREFIX).upper()
    if scope.clause not in ("field list", "order clause"):
        raise syntax_error(mysql_text(node))
    parts: list[Emitted] = []
    if name in AGGREGATES:
        text, kind, parts = _aggregate_text(name, function.expressions, scope)
    else:
        text, kind, parts = _rank_text(name, function.expressions, scope)
    over, over_parts = _over(node, scope)
    loose, aggregated, _ = gather([*parts, *over_parts])
    return Emitted(f"{text} OVER ({over})", kind, loose, aggregated, windowed=True)


def _rank_text(
    name: str, arguments: Sequence[exp.Expression], scope: Scope
) -> tuple[str, Kind, list[Emitted]]:
    if name not in _RANKS and name not in _OFFSETS:
        raise unknown_function(scope.context.schema.database, name)
    values = [emit(argument, scope) for argument in arguments]
    if name in _OFFSETS and not values:
        raise wrong_argument_count(name)
    kind = _RANKS[name] if name in _RANKS else values[0].kind
    return f"{name}({', '.join(value.sql for value in values)})", kind, values


def _over(node: exp.Window, scope: Scope) -> tuple[str, list[Emitted]]:
    pieces: list[str] = []
    partition = [emit(item, scope) for item in node.args.get("partition_by") or ()]
    if partition:
        pieces.append("PARTITION BY " + ", ".join(collated(p) for p in partition))
    order = node.args.get("order")
    keys: list[Emitted] = []
    if order is not None:
        keys = [emit(item.this, scope) for item in order.expressions]
        words = ("DESC" if item.args.get("desc") else "ASC" for item in order.expressions)
        pieces.append("ORDER BY " + ", ".join(f"{collated(k)} {w}" for k, w in zip(keys, words, strict=True)))
    frame = node.args.get("spec")
    if frame is not None:
        pieces.append(frame.sql("sqlite"))
    return " ".join(pieces), [*partition, *keys]
