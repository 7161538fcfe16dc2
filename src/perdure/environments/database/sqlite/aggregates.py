"""Aggregates that SQLite lacks, or computes otherwise than MySQL. NULLs are skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from perdure.environments.database.engine import GROUP_CONCAT_LIMIT
from perdure.environments.database.sqlite.failure import several_rows
from perdure.environments.database.sqlite.text_functions import collation_key

Cell = int | float | str | bytes | None


class _Moments:
    """Mean and squared deviations by Welford's method; constant memory."""

    sample: ClassVar[bool] = False
    root: ClassVar[bool] = True

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def step(self, value: float | None) -> None:
        """Add one value."""
        if value is None:
            return
        self._count += 1
        delta = value - self._mean
        self._mean += delta / self._count
        self._squares += delta * (value - self._mean)

    def finalize(self) -> float | None:
        """The deviation or variance; None without enough values."""
        divisor = self._count - 1 if self.sample else self._count
        if divisor < 1:
            return None
        variance = self._squares / divisor
        return math.sqrt(variance) if self.root else variance


class _SampleDeviation(_Moments):
    sample = True


class _Variance(_Moments):
    root = False


class _SampleVariance(_Moments):
    sample = True
    root = False


class _GroupConcat:
    """GROUP_CONCAT with DISTINCT, ORDER BY and SEPARATOR, cut at `group_concat_max_len`."""

    _MOST = 20_000

    def __init__(self) -> None:
        self._items: list[tuple[str, tuple[Cell, ...]]] = []
        self._seen: set[str] = set()
        self._separator, self._directions = ",", ""

    def step(self, text: str | None, separator: str, distinct: int, directions: str, *keys: Cell) -> None:
        """Add one row's text with its sort keys."""
        self._separator, self._directions = separator, directions
        if text is None or len(self._items) >= self._MOST:
            return
        if distinct:
            key = collation_key(text)
            if key in self._seen:
                return
            self._seen.add(key)
        short = tuple(k[:GROUP_CONCAT_LIMIT] if isinstance(k, str) else k for k in keys)
        self._items.append((text[:GROUP_CONCAT_LIMIT], short))

    def finalize(self) -> str | None:
        """The joined text; None without any."""
        if not self._items:
            return None
        items = self._items
        for i, direction in reversed(list(enumerate(self._directions))):
            items = sorted(items, key=lambda item, i=i: _sort_key(item[1][i]), reverse=direction == "d")  # type: ignore[misc]
        return self._separator.join(text for text, _ in items)[:GROUP_CONCAT_LIMIT]


def _sort_key(cell: Cell) -> tuple[int, float, str]:
    if cell is None:
        return 0, 0.0, ""
    if isinstance(cell, int | float):
        return 1, float(cell), ""
    return 2, 0.0, collation_key(str(cell))


class _Single:
    """The value of a scalar subquery, which may have one row at most."""

    def __init__(self) -> None:
        self._rows, self._value = 0, None

    def step(self, value: Cell) -> None:
        """Add one row. Raises SqlFailure 1242 at the second."""
        self._rows += 1
        if self._rows > 1:
            raise several_rows()
        self._value = value  # type: ignore[assignment]

    def finalize(self) -> Cell:
        """The row's value, or None."""
        return self._value


class _First:
    """ANY_VALUE."""

    def __init__(self) -> None:
        self._value: Cell = None
        self._seen = False

    def step(self, value: Cell) -> None:
        """Keep the first."""
        if not self._seen:
            self._seen, self._value = True, value

    def finalize(self) -> Cell:
        """The first value."""
        return self._value


class _Quantifier:
    """Three-valued ANY and ALL."""

    decisive: ClassVar[int] = 1

    def __init__(self) -> None:
        self._null = self._decided = False

    def step(self, value: Cell) -> None:
        """Add one comparison's result."""
        if value is None:
            self._null = True
        elif bool(value) == bool(self.decisive):
            self._decided = True

    def finalize(self) -> int | None:
        """1, 0 or NULL."""
        if self._decided:
            return self.decisive
        return None if self._null else 1 - self.decisive


class _All(_Quantifier):
    decisive = 0


class _Bits:
    """BIT_OR over 64 bits; the other two differ in start and step."""

    start: ClassVar[int] = 0

    def __init__(self) -> None:
        self._value = self.start

    def step(self, value: int | None) -> None:
        """Add one value."""
        if value is not None:
            self._value = self._join(value & (2**64 - 1))

    def _join(self, value: int) -> int:
        return self._value | value

    def finalize(self) -> int:
        """The bits as SQLite's signed integer."""
        return self._value - 2**64 if self._value >= 2**63 else self._value


class _BitAnd(_Bits):
    start = 2**64 - 1

    def _join(self, value: int) -> int:
        return self._value & value


class _BitXor(_Bits):
    def _join(self, value: int) -> int:
        return self._value ^ value


AGGREGATE_CLASSES: Mapping[str, type] = {
    "my_std": _Moments,
    "my_std_sample": _SampleDeviation,
    "my_variance": _Variance,
    "my_variance_sample": _SampleVariance,
    "my_group_concat": _GroupConcat,
    "my_single": _Single,
    "my_first": _First,
    "my_any": _Quantifier,
    "my_all": _All,
    "my_bit_or": _Bits,
    "my_bit_and": _BitAnd,
    "my_bit_xor": _BitXor,
}
