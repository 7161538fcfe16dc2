"""MySQL's date functions over ISO texts, the form in which moments are stored. NULL in, NULL out."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache

Cell = int | float | str | bytes | None

_MOMENT = re.compile(
    r"\s*(\d{4}|\d{2})[-/.:](\d{1,2})[-/.:](\d{1,2})"
    r"(?:[T\s]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?\s*\Z"
)
_PACKED = re.compile(r"(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}))?\Z")
_TIME = re.compile(r"\s*(-?)(\d{1,3}):(\d{1,2})(?::(\d{1,2}))?(?:\.\d*)?\s*\Z")
_DAY_ZERO = 365
"""MySQL counts days from year 0; Python from 0001-01-01."""


@lru_cache(maxsize=4096)
def parse_moment(text: str) -> datetime | None:
    """A date or date and time in any form MySQL reads; None otherwise."""
    found = _MOMENT.match(text) or _PACKED.match(text)
    if found is None:
        return None
    year = int(found.group(1))
    if len(found.group(1)) == 2:
        year += 2000 if year < 70 else 1900
    clock = [int(piece or 0) for piece in found.groups()[3:6]]
    try:
        return datetime(year, int(found.group(2)), int(found.group(3)), clock[0], clock[1], clock[2])
    except ValueError:
        return None


def parse_time(text: str) -> str | None:
    """A span as `HH:MM:SS`; None when the text is no time."""
    found = _TIME.match(text)
    if found is None:
        moment = parse_moment(text)
        return moment.strftime("%H:%M:%S") if moment is not None else None
    sign, hours, minutes, seconds = found.groups()
    if int(minutes) > 59 or int(seconds or 0) > 59:
        return None
    return f"{sign}{int(hours):02}:{int(minutes):02}:{int(seconds or 0):02}"


def _on_moment(function: Callable[..., Cell]) -> Callable[..., Cell]:
    def call(value: Cell, *rest: Cell) -> Cell:
        moment = parse_moment(str(value)) if value is not None else None
        return None if moment is None or None in rest else function(moment, *rest)

    return call


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment.year >= 1000 else moment.isoformat(" ")


def _date_text(moment: datetime) -> str:
    return moment.date().isoformat()


def _operand(value: Cell, kind: Cell) -> Cell:
    """A text that is compared with a date, in the date's own form; unreadable text stays."""
    if value is None or kind == "time":
        return value
    moment = parse_moment(str(value))
    if moment is None:
        return value
    plain = kind == "date" and (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    return _date_text(moment) if plain else _iso(moment)


def _clock(part: int) -> Callable[[Cell], int | None]:
    def call(value: Cell) -> int | None:
        span = parse_time(str(value)) if value is not None else None
        return abs(int(span.split(":")[part])) if span is not None else None

    return call


def _week(moment: datetime, mode: Cell = 0) -> int:
    if mode in (1, 3):
        return moment.isocalendar().week if mode == 3 else _monday_week(moment)
    return int(moment.strftime("%U"))


def _monday_week(moment: datetime) -> int:
    first = date(moment.year, 1, 1).weekday()
    return (moment.timetuple().tm_yday + first - 1) // 7 + (1 if first <= 3 else 0)


def _shifted(moment: datetime, months: int) -> datetime:
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_SECONDS = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def _shift(value: Cell, amount: Cell, unit: Cell) -> str | None:
    moment = parse_moment(str(value)) if value is not None else None
    if moment is None or not isinstance(amount, int | float) or not math.isfinite(amount):
        return None
    name = str(unit)
    try:
        if name in _MONTHS:
            result = _shifted(moment, round(amount) * _MONTHS[name])
        elif name in _SECONDS:
            whole = amount if name == "SECOND" else round(amount)
            result = moment + timedelta(seconds=whole * _SECONDS[name])
        else:
            return None
    except (OverflowError, ValueError):
        return None
    plain = len(str(value).strip()) <= 10 and name not in ("HOUR", "MINUTE", "SECOND")
    return _date_text(result) if plain else _iso(result)


def _datediff(left: Cell, right: Cell) -> int | None:
    moments = [parse_moment(str(value)) for value in (left, right) if value is not None]
    if len(moments) < 2 or moments[0] is None or moments[1] is None:
        return None
    return (moments[0].date() - moments[1].date()).days


def _timestampdiff(unit: Cell, start: Cell, end: Cell) -> int | None:
    first, last = (parse_moment(str(value)) if value is not None else None for value in (start, end))
    if first is None or last is None:
        return None
    name = str(unit)
    if name in _SECONDS:
        return int((last - first).total_seconds() / _SECONDS[name])
    if name not in _MONTHS:
        return None
    sign = 1 if last >= first else -1
    low, high = sorted((first, last))
    months = (high.year - low.year) * 12 + high.month - low.month
    if (high.day, high.time()) < (low.day, low.time()):
        months -= 1
    return sign * (months // _MONTHS[name])


def _ordinal_suffix(day: int) -> str:
    if 11 <= day % 100 <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


_FORMATS: Mapping[str, Callable[[datetime], str]] = {
    "Y": lambda m: f"{m.year:04}",
    "y": lambda m: f"{m.year % 100:02}",
    "m": lambda m: f"{m.month:02}",
    "c": lambda m: str(m.month),
    "d": lambda m: f"{m.day:02}",
    "e": lambda m: str(m.day),
    "D": lambda m: f"{m.day}{_ordinal_suffix(m.day)}",
    "M": lambda m: calendar.month_name[m.month],
    "b": lambda m: calendar.month_abbr[m.month],
    "W": lambda m: calendar.day_name[m.weekday()],
    "a": lambda m: calendar.day_abbr[m.weekday()],
    "w": lambda m: str(m.isoweekday() % 7),
    "j": lambda m: f"{m.timetuple().tm_yday:03}",
    "H": lambda m: f"{m.hour:02}",
    "k": lambda m: str(m.hour),
    "h": lambda m: f"{(m.hour - 1) % 12 + 1:02}",
    "I": lambda m: f"{(m.hour - 1) % 12 + 1:02}",
    "l": lambda m: str((m.hour - 1) % 12 + 1),
    "i": lambda m: f"{m.minute:02}",
    "s": lambda m: f"{m.second:02}",
    "S": lambda m: f"{m.second:02}",
    "f": lambda m: f"{m.microsecond:06}",
    "p": lambda m: "AM" if m.hour < 12 else "PM",
    "T": lambda m: m.strftime("%H:%M:%S"),
    "r": lambda m: m.strftime("%I:%M:%S %p"),
    "u": lambda m: f"{_monday_week(m):02}",
    "U": lambda m: m.strftime("%U"),
}


def _date_format(moment: datetime, pattern: Cell) -> str:
    def expand(found: re.Match[str]) -> str:
        code = found.group(1)
        return _FORMATS[code](moment) if code in _FORMATS else code

    return re.sub(r"%(.)", expand, str(pattern))


_PARSED = {"Y": "%Y", "y": "%y", "m": "%m", "c": "%m", "d": "%d", "e": "%d", "M": "%B", "b": "%b"}
_PARSED |= {"H": "%H", "k": "%H", "h": "%I", "i": "%M", "s": "%S", "S": "%S", "p": "%p", "T": "%H:%M:%S"}


def _str_to_date(text: Cell, pattern: Cell) -> str | None:
    if text is None or pattern is None:
        return None
    layout = re.sub(r"%(.)", lambda found: _PARSED.get(found.group(1), found.group(1)), str(pattern))
    try:
        moment = datetime.strptime(str(text), layout)
    except (ValueError, re.error):
        return None
    return _iso(moment) if re.search("%[HkhiSsTp]", str(pattern)) else _date_text(moment)


def _month_end(moment: datetime) -> str:
    return date(moment.year, moment.month, calendar.monthrange(moment.year, moment.month)[1]).isoformat()


def _seconds(value: Cell) -> int | None:
    span = parse_time(str(value)) if value is not None else None
    if span is None:
        return None
    hours, minutes, seconds = (int(piece) for piece in span.lstrip("-").split(":"))
    total = hours * 3600 + minutes * 60 + seconds
    return -total if span.startswith("-") else total


def _sec_to_time(value: Cell) -> str | None:
    if not isinstance(value, int | float) or abs(value) > 838 * 3600:
        return None
    total = abs(int(value))
    return f"{'-' if value < 0 else ''}{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}"


def _timediff(left: Cell, right: Cell) -> str | None:
    moments = [parse_moment(str(value)) if value is not None else None for value in (left, right)]
    if moments[0] is not None and moments[1] is not None:
        return _sec_to_time((moments[0] - moments[1]).total_seconds())
    spans = [_seconds(value) for value in (left, right)]
    return _sec_to_time(spans[0] - spans[1]) if spans[0] is not None and spans[1] is not None else None


def _from_ordinal(days: Cell) -> str | None:
    if not isinstance(days, int | float) or not 366 <= days <= 3_652_424:
        return None
    return date.fromordinal(int(days) - _DAY_ZERO).isoformat()


def _makedate(year: Cell, day: Cell) -> str | None:
    try:
        return (date(int(year or 0), 1, 1) + timedelta(days=int(day or 0) - 1)).isoformat()
    except (ValueError, OverflowError):
        return None


def _from_unixtime(value: Cell) -> str | None:
    if not isinstance(value, int | float) or not 0 <= value < 32_536_771_200:
        return None
    return _iso(datetime(1970, 1, 1) + timedelta(seconds=int(value)))


_PLAIN: Mapping[str, Callable[..., Cell]] = {
    "my_year": lambda m: m.year,
    "my_month": lambda m: m.month,
    "my_day": lambda m: m.day,
    "my_quarter": lambda m: (m.month + 2) // 3,
    "my_week": _week,
    "my_weekofyear": lambda m: m.isocalendar().week,
    "my_weekday": lambda m: m.weekday(),
    "my_dayofweek": lambda m: m.isoweekday() % 7 + 1,
    "my_dayofyear": lambda m: m.timetuple().tm_yday,
    "my_dayname": lambda m: calendar.day_name[m.weekday()],
    "my_monthname": lambda m: calendar.month_name[m.month],
    "my_date": _date_text,
    "my_datetime": _iso,
    "my_last_day": _month_end,
    "my_to_days": lambda m: m.toordinal() + _DAY_ZERO,
    "my_date_format": _date_format,
}
DATE_FUNCTIONS: Mapping[str, Callable[..., Cell]] = {
    "my_date_operand": _operand,
    "my_shift": _shift,
    "my_datediff": _datediff,
    "my_timestampdiff": _timestampdiff,
    "my_str_to_date": _str_to_date,
    "my_time": lambda value: parse_time(str(value)) if value is not None else None,
    "my_time_to_sec": _seconds,
    "my_sec_to_time": _sec_to_time,
    "my_timediff": _timediff,
    "my_from_days": _from_ordinal,
    "my_makedate": _makedate,
    "my_from_unixtime": _from_unixtime,
    "my_hour": _clock(0),
    "my_minute": _clock(1),
    "my_second": _clock(2),
    **{name: _on_moment(function) for name, function in _PLAIN.items()},
}
