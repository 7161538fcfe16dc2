"""MySQL's functions: how many arguments each takes, what it returns and which SQLite function computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from perdure.environments.database.sqlite.aggregate_calls import AGGREGATES, emit_aggregate, emit_window
from perdure.environments.database.sqlite.expressions import (
    as_condition,
    as_number,
    as_text,
    build,
    coerced,
    compare,
    emit,
    modulo,
    quote_text,
    shift_date,
)
from perdure.environments.database.sqlite.failure import (
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
from perdure.environments.database.sqlite.scope import Emitted, Scope

PREFIX = "fn:"
"""Marks function names before parsing, so that the parser leaves calls as they are written."""

Arguments: TypeAlias = Sequence[Emitted]
Special: TypeAlias = Callable[[exp.Expression, list[exp.Expression], Scope], Emitted]


@dataclass(frozen=True)
class Call:
    """One native function with ordinary arguments."""

    function: str
    least: int
    most: int
    takes: Literal["text", "number", "value"]
    kind: Kind | Callable[[Arguments], Kind]


def _same(arguments: Arguments) -> Kind:
    return arguments[0].kind if arguments[0].kind.is_number else DOUBLE


def _whole(arguments: Arguments) -> Kind:
    return INT if arguments[0].kind.is_exact else DOUBLE


def _as_is(value: Emitted) -> str:
    return value.sql


_CONVERSIONS: Mapping[str, Callable[[Emitted], str]] = {
    "text": as_text,
    "number": as_number,
    "value": _as_is,
}
_MANY = 1000
_TEXT_CALLS = {
    # name: (SQLite function, least, most arguments, kind)
    "CONCAT": ("my_concat", 1, _MANY, TEXT),
    "CONCAT_WS": ("my_concat_ws", 2, _MANY, TEXT),
    "LENGTH": ("my_length", 1, 1, INT),
    "OCTET_LENGTH": ("my_length", 1, 1, INT),
    "CHAR_LENGTH": ("length", 1, 1, INT),
    "CHARACTER_LENGTH": ("length", 1, 1, INT),
    "UPPER": ("my_upper", 1, 1, TEXT),
    "UCASE": ("my_upper", 1, 1, TEXT),
    "LOWER": ("my_lower", 1, 1, TEXT),
    "LCASE": ("my_lower", 1, 1, TEXT),
    "LEFT": ("my_left", 2, 2, TEXT),
    "RIGHT": ("my_right", 2, 2, TEXT),
    "MID": ("my_substring", 3, 3, TEXT),
    "SUBSTR": ("my_substring", 2, 3, TEXT),
    "SUBSTRING_INDEX": ("my_substring_index", 3, 3, TEXT),
    "LTRIM": ("my_ltrim", 1, 1, TEXT),
    "RTRIM": ("my_rtrim", 1, 1, TEXT),
    "REPLACE": ("my_replace", 3, 3, TEXT),
    "REVERSE": ("my_reverse", 1, 1, TEXT),
    "REPEAT": ("my_repeat", 2, 2, TEXT),
    "SPACE": ("my_space", 1, 1, TEXT),
    "LPAD": ("my_lpad", 3, 3, TEXT),
    "RPAD": ("my_rpad", 3, 3, TEXT),
    "INSTR": ("my_instr", 2, 2, INT),
    "LOCATE": ("my_locate", 2, 3, INT),
    "ASCII": ("my_ascii", 1, 1, INT),
    "ORD": ("my_ascii", 1, 1, INT),
    "FIND_IN_SET": ("my_find_in_set", 2, 2, INT),
    "STRCMP": ("my_strcmp", 2, 2, INT),
    "INSERT": ("my_insert", 4, 4, TEXT),
    "MD5": ("my_md5", 1, 1, TEXT),
    "SHA": ("my_sha1", 1, 1, TEXT),
    "SHA1": ("my_sha1", 1, 1, TEXT),
    "SHA2": ("my_sha2", 2, 2, TEXT),
    "CRC32": ("my_crc32", 1, 1, INT),
    "REGEXP_LIKE": ("my_regexp", 2, 2, INT),
    "REGEXP_REPLACE": ("my_regexp_replace", 3, 3, TEXT),
    "REGEXP_SUBSTR": ("my_regexp_substr", 2, 2, TEXT),
}
_NUMBER_CALLS: Mapping[str, tuple[str, int, int, Kind | Callable[[Arguments], Kind]]] = {
    "ABS": ("abs", 1, 1, _same),
    "CEIL": ("my_ceil", 1, 1, _whole),
    "CEILING": ("my_ceil", 1, 1, _whole),
    "FLOOR": ("my_floor", 1, 1, _whole),
    "SIGN": ("my_sign", 1, 1, INT),
    "POW": ("my_pow", 2, 2, DOUBLE),
    "POWER": ("my_pow", 2, 2, DOUBLE),
    "SQRT": ("my_sqrt", 1, 1, DOUBLE),
    "EXP": ("my_exp", 1, 1, DOUBLE),
    "LN": ("my_ln", 1, 1, DOUBLE),
    "LOG": ("my_log", 1, 2, DOUBLE),
    "LOG2": ("my_log2", 1, 1, DOUBLE),
    "LOG10": ("my_log10", 1, 1, DOUBLE),
    "SIN": ("my_sin", 1, 1, DOUBLE),
    "COS": ("my_cos", 1, 1, DOUBLE),
    "TAN": ("my_tan", 1, 1, DOUBLE),
    "PI": ("my_pi", 0, 0, DOUBLE),
    "RAND": ("my_rand", 0, 1, DOUBLE),
    "BIN": ("my_bin", 1, 1, TEXT),
    "CHAR": ("my_char", 1, _MANY, TEXT),
    "SEC_TO_TIME": ("my_sec_to_time", 1, 1, TIME),
    "FROM_DAYS": ("my_from_days", 1, 1, DATE),
    "MAKEDATE": ("my_makedate", 2, 2, DATE),
    "SLEEP": ("my_sleep", 1, 1, INT),
}
_VALUE_CALLS: Mapping[str, tuple[str, int, int, Kind | Callable[[Arguments], Kind]]] = {
    "YEAR": ("my_year", 1, 1, INT),
    "MONTH": ("my_month", 1, 1, INT),
    "DAY": ("my_day", 1, 1, INT),
    "DAYOFMONTH": ("my_day", 1, 1, INT),
    "HOUR": ("my_hour", 1, 1, INT),
    "MINUTE": ("my_minute", 1, 1, INT),
    "SECOND": ("my_second", 1, 1, INT),
    "QUARTER": ("my_quarter", 1, 1, INT),
    "WEEK": ("my_week", 1, 2, INT),
    "WEEKOFYEAR": ("my_weekofyear", 1, 1, INT),
    "WEEKDAY": ("my_weekday", 1, 1, INT),
    "DAYOFWEEK": ("my_dayofweek", 1, 1, INT),
    "DAYOFYEAR": ("my_dayofyear", 1, 1, INT),
    "DAYNAME": ("my_dayname", 1, 1, TEXT),
    "MONTHNAME": ("my_monthname", 1, 1, TEXT),
    "DATE": ("my_date", 1, 1, DATE),
    "TIME": ("my_time", 1, 1, TIME),
    "TIMESTAMP": ("my_datetime", 1, 1, DATETIME),
    "DATEDIFF": ("my_datediff", 2, 2, INT),
    "LAST_DAY": ("my_last_day", 1, 1, DATE),
    "TO_DAYS": ("my_to_days", 1, 1, INT),
    "UNIX_TIMESTAMP": ("my_unix_timestamp", 0, 1, INT),
    "FROM_UNIXTIME": ("my_from_unixtime", 1, 1, DATETIME),
    "TIME_TO_SEC": ("my_time_to_sec", 1, 1, INT),
    "TIMEDIFF": ("my_timediff", 2, 2, TIME),
    "DATE_FORMAT": ("my_date_format", 2, 2, TEXT),
    "STR_TO_DATE": ("my_str_to_date", 2, 2, DATETIME),
    "NOW": ("my_now", 0, 1, DATETIME),
    "SYSDATE": ("my_now", 0, 1, DATETIME),
    "CURRENT_TIMESTAMP": ("my_now", 0, 1, DATETIME),
    "LOCALTIME": ("my_now", 0, 1, DATETIME),
    "UTC_TIMESTAMP": ("my_now", 0, 1, DATETIME),
    "CURDATE": ("my_curdate", 0, 0, DATE),
    "CURRENT_DATE": ("my_curdate", 0, 0, DATE),
    "CURTIME": ("my_curtime", 0, 1, TIME),
    "CURRENT_TIME": ("my_curtime", 0, 1, TIME),
    "HEX": ("my_hex", 1, 1, TEXT),
    "UNHEX": ("my_unhex", 1, 1, TEXT),
    "LOAD_FILE": ("my_load_file", 1, 1, TEXT),
}
CALLS: dict[str, Call] = {
    **{name: Call(f, least, most, "text", kind) for name, (f, least, most, kind) in _TEXT_CALLS.items()},
    **{name: Call(f, least, most, "number", kind) for name, (f, least, most, kind) in _NUMBER_CALLS.items()},
    **{name: Call(f, least, most, "value", kind) for name, (f, least, most, kind) in _VALUE_CALLS.items()},
}


def emit_call(node: exp.Expression, scope: Scope) -> Emitted:
    """A function call, aggregate, window or one of the calls with a syntax of their own."""
    if isinstance(node, exp.Window):
        return emit_window(node, scope, PREFIX)
    form = _FORMS.get(type(node))
    if form is not None:
        return form(node, scope)
    if isinstance(node, exp.Anonymous):
        return _named(str(node.this).removeprefix(PREFIX).upper(), node, scope)
    if isinstance(node, exp.Func):
        return _named(type(node).sql_names()[0], node, scope)
    raise syntax_error(node.sql("mysql").replace(PREFIX, ""))


def _named(name: str, node: exp.Expression, scope: Scope) -> Emitted:
    arguments: list[exp.Expression] = list(node.expressions)
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


_SPECIAL: Mapping[str, tuple[int, int, Special]] = {
    "IF": (3, 3, _if),
    "IFNULL": (2, 2, _coalesce),
    "COALESCE": (1, _MANY, _coalesce),
    "NULLIF": (2, 2, _nullif),
    "ISNULL": (1, 1, _isnull),
    "GREATEST": (2, _MANY, _extreme("max")),
    "LEAST": (2, _MANY, _extreme("min")),
    "ROUND": (1, 2, _round("my_round")),
    "TRUNCATE": (2, 2, _round("my_truncate")),
    "MOD": (2, 2, _mod),
    "FIELD": (2, _MANY, _field),
    "ELT": (2, _MANY, _elt),
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
FUNCTION_NAMES = frozenset({*CALLS, *_SPECIAL, *AGGREGATES} - {"SUBSTR", "GROUP_CONCAT"})
"""Names that are marked before parsing; the others have a syntax that the parser reads itself."""


def _like(node: exp.Expression, scope: Scope) -> Emitted:
    pattern, escape = node.expression, "\\"
    value = emit(node.this, scope)
    wanted = emit(pattern, scope)
    return build(f"my_like({as_text(value)}, {as_text(wanted)}, {quote_text(escape)})", INT, (value, wanted))


def _escaped_like(node: exp.Expression, scope: Scope) -> Emitted:
    like = node.this
    value, wanted = emit(like.this, scope), emit(like.expression, scope)
    escape = emit(node.expression, scope)
    return build(
        f"my_like({as_text(value)}, {as_text(wanted)}, {as_text(escape)})", INT, (value, wanted, escape)
    )


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
    if call is None or name not in _VALUE_CALLS:
        raise syntax_error(node.sql("mysql"))
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
