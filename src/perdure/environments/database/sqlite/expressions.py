"""MySQL expressions as SQLite text: operators, comparisons by MySQL's rules, subqueries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from perdure.environments.database.sqlite.arguments import refuse_unread
from perdure.environments.database.sqlite.call_table import CALLED_BY_NAME
from perdure.environments.database.sqlite.failure import (
    syntax_error,
    unsupported,
    wrong_column_count,
)
from perdure.environments.database.sqlite.kinds import (
    DATE,
    DATETIME,
    DIVISION_DECIMALS,
    DOUBLE,
    INT,
    NULL,
    TEXT,
    Kind,
    decimal,
    unify,
)
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.operands import (
    as_condition,
    as_number,
    as_text,
    build,
    cast_value,
    coerced,
    collated,
    comparable,
    compare,
    quote_text,
)
from perdure.environments.database.sqlite.scope import Emitted, QueryText, Scope

Handler = Callable[[exp.Expression, Scope], Emitted]


def emit(node: exp.Expression, scope: Scope) -> Emitted:
    """One expression. Raises SqlFailure for what MySQL would refuse."""
    refuse_unread(node)
    handler = _HANDLERS.get(type(node), scope.context.call)
    emitted = handler(node, scope)
    if emitted.loose and emitted.sql in scope.group_keys:
        return Emitted(emitted.sql, emitted.kind, (), emitted.aggregated, emitted.windowed)
    return emitted


_COMPARISONS: Mapping[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "IS",
}


def _comparison(node: exp.Expression, scope: Scope) -> Emitted:
    quantified = node.expression
    if isinstance(quantified, exp.Any | exp.All):
        return _quantified(node, quantified, scope)
    if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
        return _row_comparison(node, scope)
    left, right = emit(node.this, scope), emit(node.expression, scope)
    return compare(_COMPARISONS[type(node)], left, right)


def _row_comparison(node: exp.Expression, scope: Scope) -> Emitted:
    lefts, rights = node.this.expressions, node.expression.expressions
    if len(lefts) != len(rights):
        raise wrong_column_count(len(lefts))
    if not isinstance(node, exp.EQ):
        raise unsupported("row comparison")
    parts = [compare("=", emit(a, scope), emit(b, scope)) for a, b in zip(lefts, rights, strict=True)]
    return build("(" + " AND ".join(p.sql for p in parts) + ")", INT, parts)


def _quantified(node: exp.Expression, quantified: exp.Expression, scope: Scope) -> Emitted:
    _refuse_limit(quantified.this)
    query = _nested(quantified.this, scope)
    left = emit(node.this, scope)
    inner = Emitted('"q"."v"', query.kinds[0])
    test = compare(_COMPARISONS[type(node)], left, inner).sql
    function = "my_any" if isinstance(quantified, exp.Any) else "my_all"
    sql = f'(SELECT {function}({test}) FROM (SELECT NULL AS "v" WHERE 0 UNION ALL {query.sql}) AS "q")'
    if len(query.kinds) != 1:
        raise wrong_column_count(1)
    return build(sql, INT, (left, Emitted("", INT, query.loose)))


def _junction(word: str) -> Handler:
    def handle(node: exp.Expression, scope: Scope) -> Emitted:
        left, right = emit(node.this, scope), emit(node.expression, scope)
        return build(f"({as_condition(left)} {word} {as_condition(right)})", INT, (left, right))

    return handle


def _xor(node: exp.Expression, scope: Scope) -> Emitted:
    left, right = emit(node.this, scope), emit(node.expression, scope)
    return build(f"((NOT {as_condition(left)}) <> (NOT {as_condition(right)}))", INT, (left, right))


def _not(node: exp.Expression, scope: Scope) -> Emitted:
    value = emit(node.this, scope)
    return build(f"(NOT {as_condition(value)})", INT, (value,))


def _paren(node: exp.Expression, scope: Scope) -> Emitted:
    return emit(node.this, scope)


def _negative(node: exp.Expression, scope: Scope) -> Emitted:
    value = emit(node.this, scope)
    kind = value.kind if value.kind.is_number else DOUBLE
    return build(f"(- {as_number(value)})", kind, (value,))


def _literal(node: exp.Expression, scope: Scope) -> Emitted:
    text = str(node.this)
    if node.args.get("is_string"):
        return Emitted(quote_text(text), TEXT)
    if "e" in text.lower():
        return Emitted(text, DOUBLE)
    whole, dot, fraction = text.partition(".")
    if not dot:
        return Emitted(whole, INT) if len(whole) < 19 else Emitted(f"{whole}.0", decimal(0))
    return Emitted(f"{whole or 0}.{fraction or 0}", decimal(len(fraction)))


def _arithmetic_kind(node: exp.Expression, left: Kind, right: Kind) -> Kind:
    if not (left.is_exact and right.is_exact):
        return DOUBLE
    if left == INT and right == INT:
        return INT
    if isinstance(node, exp.Mul):
        return decimal(left.scale + right.scale)
    return decimal(max(left.scale, right.scale))


_ARITHMETIC: Mapping[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


def _arithmetic(node: exp.Expression, scope: Scope) -> Emitted:
    for operand, other in ((node.expression, node.this), (node.this, node.expression)):
        if isinstance(operand, exp.Interval):
            return shift_date(emit(other, scope), operand, scope, backwards=isinstance(node, exp.Sub))
    left, right = emit(node.this, scope), emit(node.expression, scope)
    kind = _arithmetic_kind(node, left.kind, right.kind)
    sql = f"({as_number(left)} {_ARITHMETIC[type(node)]} {as_number(right)})"
    if kind.name == "decimal":
        # Binary fractions drift: 110 * 1.15 is 126.49999999999999, which would round the wrong way.
        sql = f"my_exact({sql}, {kind.scale})"
    return build(sql, kind, (left, right))


def _division(node: exp.Expression, scope: Scope) -> Emitted:
    left, right = emit(node.this, scope), emit(node.expression, scope)
    exact = left.kind.is_exact and right.kind.is_exact
    kind = decimal(left.kind.scale + DIVISION_DECIMALS) if exact else DOUBLE
    sql = f"(CAST({as_number(left)} AS REAL) / {as_number(right)})"
    return build(sql, kind, (left, right))


def _whole_division(node: exp.Expression, scope: Scope) -> Emitted:
    left, right = emit(node.this, scope), emit(node.expression, scope)
    sql = f"CAST({as_number(left)} * 1.0 / {as_number(right)} AS INTEGER)"
    return build(sql, INT, (left, right))


def modulo(left: Emitted, right: Emitted) -> Emitted:
    """`%`, MOD and MOD(): the sign is that of the dividend."""
    kind = (
        INT
        if left.kind == INT and right.kind == INT
        else decimal(max(left.kind.scale, right.kind.scale))
        if left.kind.is_exact and right.kind.is_exact
        else DOUBLE
    )
    a, b = as_number(left), as_number(right)
    return build(f"({a} % {b})" if kind == INT else f"my_mod({a}, {b})", kind, (left, right))


def _modulo(node: exp.Expression, scope: Scope) -> Emitted:
    return modulo(emit(node.this, scope), emit(node.expression, scope))


def _bitwise(sign: str) -> Handler:
    def handle(node: exp.Expression, scope: Scope) -> Emitted:
        left, right = emit(node.this, scope), emit(node.expression, scope)
        a, b = (f"CAST({as_number(v)} AS INTEGER)" for v in (left, right))
        sql = f"(({a} | {b}) - ({a} & {b}))" if sign == "^" else f"({a} {sign} {b})"
        return build(sql, INT, (left, right))

    return handle


def _is(node: exp.Expression, scope: Scope) -> Emitted:
    value, other = emit(node.this, scope), node.expression
    if isinstance(other, exp.Null):
        return build(f"({value.sql} IS NULL)", INT, (value,))
    if isinstance(other, exp.Boolean):
        word = "TRUE" if other.this else "FALSE"
        return build(f"({as_condition(value)} IS {word})", INT, (value,))
    raise syntax_error(mysql_text(other))


def _between(node: exp.Expression, scope: Scope) -> Emitted:
    value = emit(node.this, scope)
    low, high = emit(node.args["low"], scope), emit(node.args["high"], scope)
    parts = (compare(">=", value, low), compare("<=", value, high))
    return build(f"({parts[0].sql} AND {parts[1].sql})", INT, parts)


def _in(node: exp.Expression, scope: Scope) -> Emitted:
    query = node.args.get("query")
    if query is not None:
        return _in_query(node, query, scope)
    if isinstance(node.this, exp.Tuple):
        rows = [exp.EQ(this=node.this, expression=item) for item in node.expressions]
        parts = [emit(row, scope) for row in rows]
        return build("(" + " OR ".join(p.sql for p in parts) + ")", INT, parts)
    value = emit(node.this, scope)
    items = [emit(item, scope) for item in node.expressions]
    if not items:
        raise syntax_error(")")
    if all(item.kind in (value.kind, NULL) for item in items) and not value.kind.is_temporal:
        sql = f"({collated(value)} IN ({', '.join(item.sql for item in items)}))"
    else:
        sql = "(" + " OR ".join(compare("=", value, item).sql for item in items) + ")"
    return build(sql, INT, (value, *items))


def _in_query(node: exp.Expression, query_node: exp.Expression, scope: Scope) -> Emitted:
    _refuse_limit(query_node)
    query = _nested(query_node, scope)
    outer = Emitted("", INT, query.loose)
    if isinstance(node.this, exp.Tuple):
        values = [emit(item, scope) for item in node.this.expressions]
        if len(values) != len(query.kinds):
            raise wrong_column_count(len(values))
        left = "(" + ", ".join(collated(v) for v in values) + ")"
        return build(f"({left} IN ({query.sql}))", INT, (*values, outer))
    value = emit(node.this, scope)
    if len(query.kinds) != 1:
        raise wrong_column_count(1)
    inner = Emitted('"v"', query.kinds[0])
    left, right = comparable(value, inner)
    if right == inner.sql:
        return build(f"({left} IN ({query.sql}))", INT, (value, outer))
    rows = f'SELECT NULL AS "v" WHERE 0 UNION ALL {query.sql}'
    return build(f"({left} IN (SELECT {right} FROM ({rows})))", INT, (value, outer))


def _refuse_limit(node: exp.Expression) -> None:
    while isinstance(node, exp.Subquery):
        if node.args.get("limit") is not None:
            break
        node = node.this
    if node.args.get("limit") is not None:
        raise unsupported("LIMIT & IN/ALL/ANY/SOME subquery")


def _nested(node: exp.Expression, scope: Scope) -> QueryText:
    inner = node.this if isinstance(node, exp.Subquery) else node
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    return scope.context.query(inner, scope)


def _subquery(node: exp.Expression, scope: Scope) -> Emitted:
    query = _nested(node, scope)
    if len(query.kinds) != 1:
        raise wrong_column_count(1)
    outer = (Emitted("", INT, query.loose),)
    if query.single_row:
        return build(f"({query.sql})", query.kinds[0], outer)
    rows = f'SELECT NULL AS "v" WHERE 0 UNION ALL SELECT * FROM ({query.sql})'
    return build(f'(SELECT my_single("v") FROM ({rows}))', query.kinds[0], outer)


def _exists(node: exp.Expression, scope: Scope) -> Emitted:
    query = _nested(node.this, scope)
    return build(f"EXISTS ({query.sql})", INT, (Emitted("", INT, query.loose),))


def _case(node: exp.Expression, scope: Scope) -> Emitted:
    subject = emit(node.this, scope) if node.this is not None else None
    parts: list[Emitted] = [subject] if subject is not None else []
    pieces, results = ["CASE"], []
    for branch in node.args.get("ifs") or ():
        test, value = emit(branch.this, scope), emit(branch.args["true"], scope)
        when = compare("=", subject, test).sql if subject is not None else as_condition(test)
        pieces.append(f"WHEN {when} THEN {{}}")
        results.append(value)
        parts += (test, value)
    default = node.args.get("default")
    if default is not None:
        results.append(emit(default, scope))
        parts.append(results[-1])
        pieces.append("ELSE {}")
    kind = unify(result.kind for result in results)
    values = iter(coerced(result, kind) for result in results)
    text = " ".join(p.replace("{}", next(values)) if p.endswith("{}") else p for p in pieces)
    return build(f"({text} END)", kind, parts)


def _cast(node: exp.Expression, scope: Scope) -> Emitted:
    value = emit(node.this, scope)
    target = node.args["to"].sql("mysql").upper()
    return cast_value(value, target)


def shift_date(value: Emitted, interval: exp.Expression, scope: Scope, *, backwards: bool) -> Emitted:
    """DATE_ADD and `date + INTERVAL n unit`."""
    unit = str(interval.args["unit"].name).upper()
    amount = emit(interval.this, scope)
    sign = "-" if backwards else ""
    timed = value.kind == DATETIME or unit in ("HOUR", "MINUTE", "SECOND", "MICROSECOND")
    kind = TEXT if value.kind == TEXT else DATETIME if timed else DATE
    sql = f"my_shift({value.sql}, {sign}{as_number(amount)}, '{unit}')"
    return build(sql, kind, (value, amount))


def _column(node: exp.Expression, scope: Scope) -> Emitted:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise syntax_error("*")
    if not node.table and not node.this.quoted and node.name.upper() in CALLED_BY_NAME:
        return Emitted(*CALLED_BY_NAME[node.name.upper()])
    return scope.column(node)


def _constant(sql: str, kind: Kind) -> Handler:
    return lambda node, scope: Emitted(sql, kind)


def _adjacent_strings(node: exp.Expression, scope: Scope) -> Emitted:
    parts = [emit(part, scope) for part in node.expressions]
    return build("(" + " || ".join(as_text(p) for p in parts) + ")", TEXT, parts)


def _text_bytes(node: exp.Expression, scope: Scope) -> Emitted:
    raw = bytes.fromhex(str(node.this).rjust(len(str(node.this)) + len(str(node.this)) % 2, "0"))
    return Emitted(quote_text(raw.decode("utf-8", "replace")), TEXT)


def _unwrapped(node: exp.Expression, scope: Scope) -> Emitted:
    return emit(node.expression if isinstance(node, exp.Introducer) else node.this, scope)


def _variable(node: exp.Expression, scope: Scope) -> Emitted:
    return Emitted("NULL", NULL)


_HANDLERS: dict[type[exp.Expression], Handler] = {
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.And: _junction("AND"),
    exp.Or: _junction("OR"),
    exp.Xor: _xor,
    exp.Not: _not,
    exp.Paren: _paren,
    exp.Neg: _negative,
    exp.Literal: _literal,
    exp.Null: _constant("NULL", NULL),
    exp.Div: _division,
    exp.IntDiv: _whole_division,
    exp.Mod: _modulo,
    exp.BitwiseAnd: _bitwise("&"),
    exp.BitwiseOr: _bitwise("|"),
    exp.BitwiseXor: _bitwise("^"),
    exp.BitwiseLeftShift: _bitwise("<<"),
    exp.BitwiseRightShift: _bitwise(">>"),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Subquery: _subquery,
    exp.Exists: _exists,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Column: _column,
    exp.Concat: _adjacent_strings,
    exp.HexString: _text_bytes,
    exp.Introducer: _unwrapped,
    exp.Collate: _unwrapped,
    exp.Parameter: _variable,
    exp.SessionParameter: _variable,
    exp.Boolean: lambda node, scope: Emitted("1" if node.this else "0", INT),
}
"""Node type → handler; everything else is a function call or an error."""
