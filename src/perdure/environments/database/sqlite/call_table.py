"""MySQL's ordinary functions: their arguments, what they return, and what computes them in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.environments.database.sqlite.kinds import DATE, DATETIME, DOUBLE, INT, TEXT, TIME, Kind
from perdure.environments.database.sqlite.scope import Emitted

Arguments: TypeAlias = Sequence[Emitted]


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


MANY = 1000
_TEXT_CALLS = {
    # name: (SQLite function, least, most arguments, kind)
    "CONCAT": ("my_concat", 1, MANY, TEXT),
    "CONCAT_WS": ("my_concat_ws", 2, MANY, TEXT),
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
    "BIN": ("my_bin", 1, 1, TEXT),
    "CHAR": ("my_char", 1, MANY, TEXT),
    "SEC_TO_TIME": ("my_sec_to_time", 1, 1, TIME),
    "FROM_DAYS": ("my_from_days", 1, 1, DATE),
    "MAKEDATE": ("my_makedate", 2, 2, DATE),
    "SLEEP": ("my_sleep", 1, 1, INT),
}
VALUE_CALLS: Mapping[str, tuple[str, int, int, Kind | Callable[[Arguments], Kind]]] = {
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
    "LOCALTIMESTAMP": ("my_now", 0, 1, DATETIME),
    "UTC_TIMESTAMP": ("my_now", 0, 1, DATETIME),
    "UTC_DATE": ("my_curdate", 0, 0, DATE),
    "UTC_TIME": ("my_curtime", 0, 1, TIME),
    "UUID": ("my_uuid", 0, 0, TEXT),
    "UUID_SHORT": ("my_uuid_short", 0, 0, INT),
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
    **{name: Call(f, least, most, "value", kind) for name, (f, least, most, kind) in VALUE_CALLS.items()},
}
CALLED_BY_NAME: Mapping[str, tuple[str, Kind]] = {
    "UTC_DATE": ("my_curdate()", DATE),
    "UTC_TIME": ("my_curtime()", TIME),
    "UTC_TIMESTAMP": ("my_now()", DATETIME),
}
"""Reserved words that are calls without parentheses, and that the parser takes for columns."""
