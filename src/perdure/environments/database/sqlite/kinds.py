"""MySQL's value types, as far as they decide how a statement behaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

KindName: TypeAlias = Literal["null", "int", "decimal", "double", "text", "date", "datetime", "time"]


@dataclass(frozen=True)
class Kind:
    """The static type of an expression; `scale` counts the decimals of an exact number."""

    name: KindName
    scale: int = 0

    @property
    def is_exact(self) -> bool:
        """INT and DECIMAL."""
        return self.name in ("int", "decimal")

    @property
    def is_number(self) -> bool:
        """INT, DECIMAL and DOUBLE."""
        return self.name in ("int", "decimal", "double")

    @property
    def is_temporal(self) -> bool:
        """DATE, DATETIME and TIME."""
        return self.name in ("date", "datetime", "time")


NULL = Kind("null")
INT = Kind("int")
DOUBLE = Kind("double")
TEXT = Kind("text")
DATE = Kind("date")
DATETIME = Kind("datetime")
TIME = Kind("time")

DIVISION_DECIMALS = 4
"""MySQL's `div_precision_increment`: decimals that `/` and AVG add."""

_COLUMN_KINDS = {
    "int": INT,
    "integer": INT,
    "tinyint": INT,
    "smallint": INT,
    "mediumint": INT,
    "bigint": INT,
    "bool": INT,
    "boolean": INT,
    "year": INT,
    "bit": INT,
    "float": DOUBLE,
    "double": DOUBLE,
    "real": DOUBLE,
    "date": DATE,
    "datetime": DATETIME,
    "timestamp": DATETIME,
    "time": TIME,
}


def decimal(scale: int) -> Kind:
    """An exact number with this many decimals (at most MySQL's 30)."""
    return Kind("decimal", min(scale, 30))


@lru_cache(maxsize=256)
def column_kind(type_text: str) -> Kind:
    """The kind of a column declared with a MySQL type, e.g. `DECIMAL(10,2)`; unknown types hold text."""
    head, _, rest = type_text.strip().lower().partition("(")
    words = head.split()
    name = words[0] if words else ""
    if name in ("decimal", "numeric", "dec", "fixed"):
        digits = rest.partition(")")[0].split(",")
        scale = digits[1].strip() if len(digits) > 1 else "0"
        return decimal(int(scale) if scale.isdigit() else 0)
    return _COLUMN_KINDS.get(name, TEXT)


def unify(kinds: Iterable[Kind]) -> Kind:
    """The common kind of CASE branches, COALESCE arguments or UNION columns."""
    seen = {kind for kind in kinds if kind.name != "null"}
    if not seen:
        return NULL
    if len(seen) == 1:
        return seen.pop()
    if all(kind.is_exact for kind in seen):
        return decimal(max(kind.scale for kind in seen))
    if all(kind.is_number for kind in seen):
        return DOUBLE
    if {kind.name for kind in seen} == {"date", "datetime"}:
        return DATETIME
    return TEXT
