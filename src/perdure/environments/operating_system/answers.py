"""Checkers of answers (AgentBench): an answer against the expected one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

_INTEGER = re.compile(r"[+-]?\d{1,40}(?:\.0{1,40})?")
_SIZE = re.compile(r"([+-]?\d{1,40}(?:\.\d{1,40})?)\s{0,8}([kmgtp]?)(?:i?b(?:ytes?)?)?", re.IGNORECASE)
_SIZE_TOLERANCE = 0.01


def same_integer(answer: str, expected: str) -> bool:
    """Both are one whole number, and the same; separators of thousands and `.0` do not matter."""
    numbers = [_integer(text) for text in (answer, expected)]
    return None not in numbers and numbers[0] == numbers[1]


def same_text(answer: str, expected: str) -> bool:
    """Equal but for white space around them."""
    return answer.strip() == expected.strip()


def contains(answer: str, expected: str) -> bool:
    """The expected text, without white space around it, stands in the answer; an empty one never does."""
    return bool(expected.strip()) and expected.strip() in answer


def same_size(answer: str, expected: str) -> bool:
    """Sizes such as `4.0K`, `4 KB` or `4096`: the same number of bytes within one percent (units of 1024)."""
    sizes = [_bytes(text) for text in (answer, expected)]
    first, second = sizes
    if first is None or second is None:
        return same_text(answer, expected)
    return math.isclose(first, second, rel_tol=_SIZE_TOLERANCE)


CHECKERS: Mapping[str, Callable[[str, str], bool]] = {
    "integer-match": same_integer,
    "string-match": same_text,
    "containing": contains,
    "size-match": same_size,
}


def _integer(text: str) -> int | None:
    text = text.strip().replace(",", "")
    return int(text.split(".")[0]) if _INTEGER.fullmatch(text) else None


def _bytes(text: str) -> float | None:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    return float(found[1]) * 1024.0 ** " kmgtp".index(found[2].lower() or " ")
