"""Literals: which kinds are attributes, how their values compare, and how a triple file writes them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

XSD = "http://www.w3.org/2001/XMLSchema#"

NUMBERS = frozenset(
    XSD + name
    for name in (
        "integer", "decimal", "float", "double", "int", "long", "short", "byte", "nonNegativeInteger",
        "positiveInteger", "nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong",
    )
)  # fmt: skip
DATES = frozenset(XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth", "time"))

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}\.[0-9]{1,18}")
_DATE = re.compile(r"-?[0-9]{4}-[0-9]{2}-[0-9]{2}")

Rank: TypeAlias = tuple[int, Decimal | str]


def is_measurable(datatype: str) -> bool:
    """Values of this datatype have an order that means something: an attribute's."""
    return datatype in NUMBERS or datatype in DATES


def guess_datatype(text: str) -> str | None:
    """The datatype of an untyped value of a triple file; None for a name."""
    if _INTEGER.fullmatch(text):
        return XSD + "integer"
    if _DECIMAL.fullmatch(text):
        return XSD + "decimal"
    if _DATE.fullmatch(text):
        return XSD + "date"
    return None


def rank(lexical: str, datatype: str) -> Rank:
    """A key that orders literals: texts, then numbers by value, then dates; equal values, equal keys."""
    if datatype in NUMBERS:
        try:
            number = Decimal(lexical.strip())
        except InvalidOperation:
            return (0, lexical)
        return (1, number) if number == number else (0, lexical)
    if datatype in DATES:
        era = "0" if lexical.startswith("-") else "1"
        return (2, era + lexical.lstrip("-"))
    return (0, lexical)
