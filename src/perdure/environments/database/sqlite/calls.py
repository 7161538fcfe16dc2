"""Function calls: the ordinary ones by their table, the others one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sqlglot import exp

from perdure.environments.database.sqlite.aggregate_calls import (
    AGGREGATES,
    WINDOWS,
    emit_aggregate,
    emit_window,
)
from perdure.environments.database.sqlite.call_table import CALLS, MANY, VALUE_CALLS, Call
from perdure.environments.database.sqlite.expressions import emit, modulo, shift_date
from perdure.environments.database.sqlite.failure import (
    not_native,
    syntax_error,
    unknown_function,
    wrong_argument_count,
)
from perdure.environments.database.sqlite.kinds import (
    DATE,
    DATETIME,
    DOUBLE,
    INT,
    TEXT,
    TIME,
    Kind,
    decimal,
    unify,
)
from perdure.environments.database.sqlite.marking import PREFIX, SPACED, mysql_text
from perdure.environments.database.sqlite.operands import (
    as_condition,
    as_number,
    as_text,
    build,
    coerced,
    compare,
    quote_text,
)
from perdure.environments.database.sqlite.scope import Emitted, Scope

Special: TypeAlias = Callable[[exp.Expression, list[exp.Expression], Scope], Emitted]


def _as_is(value: Emitted) -> str:
    return value.sql


_CONVERSIONS: Mapping[str, Callable[[Emitted], str]] = {
    "text": as_text,
    "number": as_number,
    "value": _as_is,
}


def emit_call(node: exp.Expression, scope: Scope) -> Emitted:
    """A function call, aggregate, window or one of the calls with a syntax of their own."""
    if isinstance(node, exp.Window):
        return emit_window(node, scope)
    form = _FORMS.get(type(node))
    if form is not None:
        return form(node, scope)
    if isinstance(node, exp.Anonymous):
        return _named(str(node.this).removeprefix(PREFIX).upper(), node, scope)
    if isinstance(node, exp.Func):
        return _named(type(node).sql_names()[0], node, scope)
    raise syntax_error(mysql_text(node))


def _named(name: str, node: exp.Expression, scope: Scope) -> Emitted:
    arguments: list[exp.Expression] = list(node.expressions)
    if name.startswith(SPACED):
        raise not_native(scope.context.schema.database, name.removeprefix(SPACED))
    if name in AGGREGATES:
        return emit_aggregate(name, arguments, scope)
    special = _SPECIAL.get(name)
    if special is not None:
        least, most, handler = special
        if not least <= len(arguments) <= most:
            raise wrong_argument_count(name)
        return handler(node, arguments, scope)
    call = CALLS.get(name)
    if call is None:
        raise unknown_function(scope.context.schema.database, name)
    return _native(name, call, [emit(argument, scope) for argument in arguments])


def _native(name: str, call: Call, arguments: list[Emitted]) -> Emitted:
    if not call.least <= len(arguments) <= call.most:
        raise wrong_argument_count(name)
    convert = _CONVERSIONS[call.takes]
    kind = call.kind if isinstance(call.kind, Kind) else call.kind(arguments)
    return build(f"{call.function}({', '.join(convert(a) for a in arguments)})", kind, arguments)


def _if(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    test, yes, no = (emit(argument, scope) for argument in arguments)
    kind = unify((yes.kind, no.kind))
    sql = f"(CASE WHEN {as_condition(test)} THEN {coerced(yes, kind)} ELSE {coerced(no, kind)} END)"
    return build(sql, kind, (test, yes, no))


def _coalesce(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    values = [emit(argument, scope) for argument in arguments]
    kind = unify(value.kind for value in values)
    if len(values) == 1:
        return values[0]
    return build(f"COALESCE({', '.join(coerced(v, kind) for v in values)})", kind, values)


def _nullif(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    left, right = (emit(argument, scope) for argument in arguments)
    equal = compare("=", left, right)
    return build(f"(CASE WHEN {equal.sql} THEN NULL ELSE {left.sql} END)", left.kind, (left, right))


def _isnull(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    value = emit(arguments[0], scope)
    return build(f"({value.sql} IS NULL)", INT, (value,))


def _extreme(function: str) -> Special:
    def handle(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
        values = [emit(argument, scope) for argument in arguments]
        kind = unify(value.kind for value in values)
        numeric = kind == TEXT and any(value.kind.is_number for value in values)
        texts = [as_number(v) if numeric else v.sql for v in values]
        if kind == TEXT and not numeric:
            texts[0] = f"({texts[0]} COLLATE my_ci)"
        return build(f"{function}({', '.join(texts)})", DOUBLE if numeric else kind, values)

    return handle


def _round(function: str) -> Special:
    def handle(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
        values = [emit(argument, scope) for argument in arguments]
        places = values[1].sql.strip("() ").replace("- ", "-") if len(values) > 1 else "0"
        kind = values[0].kind if values[0].kind.is_number else DOUBLE
        if kind.name == "decimal":
            fixed = places.lstrip("-").isdigit()
            scale = max(0, min(int(places), kind.scale)) if fixed else kind.scale
            kind = decimal(scale)
        digits = as_number(values[1]) if len(values) > 1 else "0"
        sql = f"{function}({as_number(values[0])}, {digits})"
        if kind == INT:
            sql = f"CAST({sql} AS INTEGER)"
        return build(sql, kind, values)

    return handle


def _mod(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    return modulo(emit(arguments[0], scope), emit(arguments[1], scope))


def _field(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    value, *others = [emit(argument, scope) for argument in arguments]
    tests = [compare("=", value, other) for other in others]
    whens = " ".join(f"WHEN {test.sql} THEN {i}" for i, test in enumerate(tests, 1))
    return build(f"(CASE {whens} ELSE 0 END)", INT, tests)


def _elt(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    index, *others = [emit(argument, scope) for argument in arguments]
    whens = " ".join(f"WHEN {i} THEN {as_text(other)}" for i, other in enumerate(others, 1))
    return build(f"(CASE {as_number(index)} {whens} END)", TEXT, (index, *others))


def _format(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    value, places = (emit(argument, scope) for argument in arguments)
    return build(f"my_format({as_number(value)}, {as_number(places)})", TEXT, (value, places))


def _shift(backwards: bool) -> Special:
    def handle(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
        interval = arguments[1]
        if not isinstance(interval, exp.Interval):
            interval = exp.Interval(this=interval, unit=exp.Var(this="DAY"))
        return shift_date(emit(arguments[0], scope), interval, scope, backwards=backwards)

    return handle


def _timestampdiff(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    unit = arguments[0].name.upper()
    start, end = emit(arguments[1], scope), emit(arguments[2], scope)
    return build(f"my_timestampdiff({quote_text(unit)}, {start.sql}, {end.sql})", INT, (start, end))


def _database(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    return Emitted(quote_text(scope.context.schema.database), TEXT)


def _fixed(text: str, kind: Kind) -> Special:
    return lambda node, arguments, scope: Emitted(text, kind)


def _rand(node: exp.Expression, arguments: list[exp.Expression], scope: Scope) -> Emitted:
    """A constant seed begins a row of numbers with each statement, another one begins with each row."""
    if not arguments:
        return Emitted("my_rand()", DOUBLE)
    seed = emit(arguments[0], scope)
    is_constant = next(node.find_all(exp.Column), None) is None
    call = f"my_rand_from({id(node)}, " if is_constant else "my_rand_of("
    return build(f"{call}{as_number(seed)})", DOUBLE, (seed,))


_SPECIAL: Mapping[str, tuple[int, int, Special]] = {
    "RAND": (0, 1, _rand),
    "IF": (3, 3, _if),
    "IFNULL": (2, 2, _coalesce),
    "COALESCE": (1, MANY, _coalesce),
    "NULLIF": (2, 2, _nullif),
    "ISNULL": (1, 1, _isnull),
    "GREATEST": (2, MANY, _extreme("max")),
    "LEAST": (2, MANY, _extreme("min")),
    "ROUND": (1, 2, _round("my_round")),
    "TRUNCATE": (2, 2, _round("my_truncate")),
    "MOD": (2, 2, _mod),
    "FIELD": (2, MANY, _field),
    "ELT": (2, MANY, _elt),
    "FORMAT": (2, 2, _format),
    "DATE_ADD": (2, 2, _shift(False)),
    "ADDDATE": (2, 2, _shift(False)),
    "DATE_SUB": (2, 2, _shift(True)),
    "SUBDATE": (2, 2, _shift(True)),
    "TIMESTAMPDIFF": (3, 3, _timestampdiff),
    "DATABASE": (0, 0, _database),
    "SCHEMA": (0, 0, _database),
    "VERSION": (0, 0, _fixed("'8.0.36'", TEXT)),
    "USER": (0, 0, _fixed("'agent@localhost'", TEXT)),
    "CURRENT_USER": (0, 0, _fixed("'agent@localhost'", TEXT)),
    "CONNECTION_ID": (0, 0, _fixed("1", INT)),
    "LAST_INSERT_ID": (0, 1, _fixed("0", INT)),
}
FUNCTION_NAMES = frozenset({*CALLS, *_SPECIAL, *AGGREGATES, *WINDOWS} - {"SUBSTR", "GROUP_CONCAT"})
"""Names that are marked before parsing; the others have a syntax that the parser reads itself."""


def _like(node: exp.Expression, scope: Scope) -> Emitted:
    return _like_with(node, Emitted("'\\'", TEXT), scope)


def _escaped_like(node: exp.Expression, scope: Scope) -> Emitted:
    return _like_with(node.this, emit(node.expression, scope), scope)


def _like_with(node: exp.Expression, escape: Emitted, scope: Scope) -> Emitted:
    value, pattern = emit(node.this, scope), emit(node.expression, scope)
    call = f"my_like({as_text(value)}, {as_text(pattern)}, {as_text(escape)})"
    return build(f"(NOT {call})" if node.args.get("negate") else call, INT, (value, pattern, escape))


def _regexp(node: exp.Expression, scope: Scope) -> Emitted:
    value, pattern = emit(node.this, scope), emit(node.expression, scope)
    return build(f"my_regexp({as_text(value)}, {as_text(pattern)})", INT, (value, pattern))


def _substring(node: exp.Expression, scope: Scope) -> Emitted:
    parts = [emit(node.args[key], scope) for key in ("this", "start", "length") if node.args.get(key)]
    texts = [as_text(parts[0]), *(as_number(part) for part in parts[1:])]
    return build(f"my_substring({', '.join(texts)})", TEXT, parts)


def _trim(node: exp.Expression, scope: Scope) -> Emitted:
    value = emit(node.this, scope)
    removed = node.args.get("expression")
    what = emit(removed, scope) if removed is not None else Emitted("' '", TEXT)
    side = str(node.args.get("position") or "BOTH").upper()
    return build(f"my_trim({as_text(value)}, {as_text(what)}, '{side}')", TEXT, (value, what))


def _position(node: exp.Expression, scope: Scope) -> Emitted:
    value, part = emit(node.this, scope), emit(node.args["substr"], scope)
    return build(f"my_instr({as_text(value)}, {as_text(part)})", INT, (value, part))


def _extract(node: exp.Expression, scope: Scope) -> Emitted:
    name = node.this.name.upper()
    call = CALLS.get(name)
    if call is None or name not in VALUE_CALLS:
        raise syntax_error(mysql_text(node))
    return _native(name, call, [emit(node.expression, scope)])


def _group_concat(node: exp.Expression, scope: Scope) -> Emitted:
    return emit_aggregate("GROUP_CONCAT", [node], scope)


def _no_argument(function: str, kind: Kind) -> Callable[[exp.Expression, Scope], Emitted]:
    return lambda node, scope: Emitted(f"{function}()", kind)


_FORMS: Mapping[type[exp.Expression], Callable[[exp.Expression, Scope], Emitted]] = {
    exp.Like: _like,
    exp.Escape: _escaped_like,
    exp.RegexpLike: _regexp,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Extract: _extract,
    exp.GroupConcat: _group_concat,
    exp.CurrentDate: _no_argument("my_curdate", DATE),
    exp.CurrentTimestamp: _no_argument("my_now", DATETIME),
    exp.CurrentTime: _no_argument("my_curtime", TIME),
}
