"""How the original code compares an answer with the published rows: as text, in order, quirks included."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from perdure.environments.database.engine import Row, Value

_TOLERANCE = 1e-6
_DECIMAL = "Decimal"
_WRAPPED = re.compile(r"Decimal\(([\"']?)(.*?)([\"']?)\)")
_NUMERAL = "0123456789.-"


def paper_answer_is_right(answer: str, truth: Sequence[Row]) -> bool:
    """The comparison that decides under `compat = "paper"`.

    Quirks: rows must come in the published order; a bracket too many or too few makes everything wrong; a
    text with a comma or a parenthesis, and NULL, never match; an answer without tuples is accepted for an
    empty truth and compared as a whole with a single row; what follows a number does not count.
    """
    tuples = _tuples(answer)
    if tuples is None:
        return False
    if not tuples:
        return not truth or (len(truth) == 1 and _same(answer, truth[0]))
    return len(tuples) == len(truth) and all(
        _same(text, row) for text, row in zip(tuples, truth, strict=True)
    )


def _tuples(text: str) -> list[str] | None:
    """The insides of parentheses, but for those of `Decimal(…)`; None where one has no partner.

    An opening one within others begins the tuple anew, so that the closing ones are too many in the end.
    """
    found: list[str] = []
    start: int | None = None
    in_decimal = False
    for i, c in enumerate(text):
        if c == "(" and text.endswith(_DECIMAL, 0, i):
            if in_decimal:
                return None
            in_decimal = True
        elif c == "(":
            start = i + 1
        elif c == ")" and in_decimal:
            in_decimal = False
        elif c == ")":
            if start is None:
                return None
            found.append(text[start:i])
            start = None
    return found if start is None else None


def _same(text: str, row: Row) -> bool:
    elements = [piece.strip() for piece in text.split(",") if piece.strip()]
    return len(elements) == len(row) and all(map(_same_element, elements, row))


def _same_element(element: str, right: Value) -> bool:
    if isinstance(right, str):
        return _unquoted(element, right) == right
    if right is None:
        return False
    wrapped = _WRAPPED.fullmatch(element)
    try:
        number = float(_numeral(wrapped[2] if wrapped else element))
        return math.isclose(number, float(right), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return False


def _numeral(text: str) -> str:
    """Without what follows the last digit, and without what stands before the character before the first."""
    first = next((i for i, c in enumerate(text) if c in _NUMERAL), len(text))
    last = max((i for i, c in enumerate(text) if c in _NUMERAL), default=-1)
    return text[max(first - 1, 0) : last + 1]


def _unquoted(text: str, right: str) -> str:
    """Without one quote on either side that the right text does not have, if it is that much longer."""
    if not 0 < len(text) - len(right) <= 2:
        return text
    head = tail = False
    for quote in "'\"":
        if not head and text.startswith(quote) and not right.startswith(quote):
            text, head = text[1:], True
        if not tail and text.endswith(quote) and not right.endswith(quote):
            text, tail = text[:-1], True
    return text
