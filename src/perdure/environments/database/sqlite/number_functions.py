"""MySQL's numeric functions over SQLite values. Each gives None for NULL or what has no result."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from perdure.environments.database.sqlite.failure import SqlFailure

Cell = int | float | str | bytes | None

_WIDE = Context(prec=400)
_PREFIX = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")


def quantize(value: float, scale: int) -> Decimal:
    """A binary fraction as the exact decimal it stands for, half away from zero."""
    if not math.isfinite(value):
        raise SqlFailure(1690, "22003", "DOUBLE value is out of range")
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)


def decimal_text(value: Cell, scale: int) -> str | None:
    """An exact number as text with all its decimals."""
    if not isinstance(value, int | float):
        return None if value is None else str(value)
    return f"{quantize(value, scale):f}"


def double_text(value: Cell) -> str | None:
    """A DOUBLE as MySQL prints it: shortest form, no `.0`."""
    if not isinstance(value, int | float):
        return None if value is None else str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e").replace("e-0", "e-")


def number(value: Cell) -> int | float | None:
    """The number that a text starts with; 0 without one."""
    if value is None or isinstance(value, int | float):
        return value
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return _number_prefix(text[:400])


@lru_cache(maxsize=4096)
def _number_prefix(text: str) -> float:
    found = _PREFIX.match(text)
    return float(found.group(1)) if found else 0.0


def integer_prefix(value: Cell) -> int | None:
    """CAST(text AS SIGNED): the leading digits."""
    if value is None:
        return None
    found = re.match(r"\s*([+-]?\d+)", str(value)[:40])
    return max(-(2**63), min(2**63 - 1, int(found.group(1)))) if found else 0


def _exact(value: Cell, scale: int) -> float | None:
    return None if value is None else float(quantize(_float(value), scale))


def _float(value: Cell) -> float:
    plain = number(value)
    return 0.0 if plain is None or not math.isfinite(plain) else plain


def round_to(value: Cell, places: Cell = 0) -> float | int | None:
    """ROUND: half away from zero; negative places round left of the point."""
    return _rounded(value, places, ROUND_HALF_UP)


def truncate(value: Cell, places: Cell) -> float | int | None:
    """TRUNCATE: towards zero."""
    return _rounded(value, places, ROUND_DOWN)


def _rounded(value: Cell, places: Cell, rounding: str) -> float | int | None:
    if value is None or places is None:
        return None
    digits = max(-30, min(30, int(_float(places))))
    exact = Decimal(repr(_float(value)))
    result = exact.quantize(Decimal(1).scaleb(-digits), rounding, _WIDE)
    return int(result) if isinstance(value, int) and abs(result) < 2**63 else float(result)


def round_half_up(value: Cell) -> int | None:
    """CAST(number AS SIGNED)."""
    if value is None:
        return None
    rounded = int(quantize(_float(value), 0))
    return max(-(2**63), min(2**63 - 1, rounded))


def _mod(left: Cell, right: Cell) -> float | None:
    if left is None or right is None or _float(right) == 0:
        return None
    return float(_WIDE.remainder(Decimal(repr(_float(left))), Decimal(repr(_float(right)))))


def _ceil(value: Cell) -> int | None:
    return None if value is None else math.ceil(_float(value))


def _floor(value: Cell) -> int | None:
    return None if value is None else math.floor(_float(value))


def _sign(value: Cell) -> int | None:
    return None if value is None else (_float(value) > 0) - (_float(value) < 0)


def _real(function: Callable[[float], float]) -> Callable[[Cell], float | None]:
    def call(value: Cell) -> float | None:
        if value is None:
            return None
        try:
            return function(_float(value))
        except (ValueError, OverflowError):
            return None

    return call


def _pow(base: Cell, exponent: Cell) -> float | None:
    if base is None or exponent is None:
        return None
    try:
        result = _float(base) ** float(_float(exponent))
    except (OverflowError, ZeroDivisionError):
        return None
    return result if isinstance(result, float | int) else None


def _log(*values: Cell) -> float | None:
    if None in values:
        return None
    try:
        numbers = [_float(value) for value in values]
        return math.log(numbers[-1]) if len(numbers) == 1 else math.log(numbers[1], numbers[0])
    except (ValueError, ZeroDivisionError):
        return None


def _bin(value: Cell) -> str | None:
    return None if value is None else format(int(_float(value)) & (2**64 - 1), "b")


def _char(*codes: Cell) -> str:
    raw = b"".join(
        int(_float(code)).to_bytes(max(1, (int(_float(code)).bit_length() + 7) // 8), "big")
        for code in codes
        if code is not None and 0 <= _float(code) < 2**32
    )
    return raw.decode("utf-8", "replace")


def _format(value: Cell, places: Cell) -> str | None:
    if value is None or places is None:
        return None
    digits = max(0, min(30, int(_float(places))))
    return f"{quantize(_float(value), digits):,f}"


def _sleep(seconds: Cell) -> int:
    return 0


NUMBER_FUNCTIONS: Mapping[str, Callable[..., Cell]] = {
    "my_number": number,
    "my_integer_prefix": integer_prefix,
    "my_exact": _exact,
    "my_decimal_text": decimal_text,
    "my_double_text": double_text,
    "my_round": round_to,
    "my_round_half_up": round_half_up,
    "my_truncate": truncate,
    "my_mod": _mod,
    "my_ceil": _ceil,
    "my_floor": _floor,
    "my_sign": _sign,
    "my_pow": _pow,
    "my_sqrt": _real(math.sqrt),
    "my_exp": _real(math.exp),
    "my_ln": _real(math.log),
    "my_log": _log,
    "my_log2": _real(math.log2),
    "my_log10": _real(math.log10),
    "my_sin": _real(math.sin),
    "my_cos": _real(math.cos),
    "my_tan": _real(math.tan),
    "my_pi": lambda: math.pi,
    "my_bin": _bin,
    "my_char": _char,
    "my_format": _format,
    "my_sleep": _sleep,
}
