"""How the original code compares an answer with the published rows: as text, in order, quirks included."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perdure.environments.database.engine import Row, Value

_TOLERANCE = 1e-6
_DECIMAL = "Decimal("


def paper_answer_is_right(answer: str, truth: Sequence[Row]) -> bool:
    """The comparison that decides under `compat = "paper"`.

    Quirks: rows must come in the published order; a text with a comma or a parenthesis, and NULL, never
    match; an answer without tuples is accepted for an empty truth and compared as a whole with a single row.
    """
    tuples = list(_top_level_tuples(answer))
    if not tuples:
        if not truth:
            return True
        return len(truth) == 1 and _same(_elements(answer), truth[0])
    return len(tuples) == len(truth) and all(
        _same(_elements(text), row) for text, row in zip(tuples, truth, strict=True)
    )


def _top_level_tuples(text: str) -> Iterator[str]:
    """The insides of parentheses that are not within others; those of `Decimal(…)` do not count."""
    depth = start = 0
    skipped = False
    for i, c in enumerate(text):
        if c == "(" and not skipped and text.endswith(_DECIMAL, 0, i + 1):
            skipped = True
        elif c == "(":
            depth += 1
            if depth == 1:
                start = i + 1
        elif c == ")" and skipped:
            skipped = False
        elif c == ")" and depth:
            depth -= 1
            if depth == 0:
                yield text[start:i]


def _elements(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def _same(elements: Sequence[str], row: Row) -> bool:
    return len(elements) == len(row) and all(map(_same_element, elements, row))


def _same_element(element: str, right: Value) -> bool:
    if right is None:
        return False
    if isinstance(right, str):
        return not set("(),") & set(right) and _without_quotes(element) == right
    number = element
    if number.startswith(_DECIMAL) and number.endswith(")"):
        number = _without_quotes(number[len(_DECIMAL) : -1])
    try:
        return math.isclose(float(number), float(right), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return False


def _without_quotes(text: str) -> str:
    if text[:1] in ("'", '"'):
        text = text[1:]
    return text[:-1] if text[-1:] in ("'", '"') else text
