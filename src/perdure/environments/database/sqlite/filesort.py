"""The order in which MySQL's filesort leaves ties.

Up to 16 rows and from 100 rows on its sort is stable; between them MySQL calls C++ `std::sort`, an introsort
whose order of ties is fixed but not stable. Published answers show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from perdure.environments.database.sqlite.kinds import TEXT, Kind
from perdure.environments.database.sqlite.text_functions import Cell, collation_key

_INSERTION = 16
"""Below this size introsort leaves the rest to insertion sort."""
_STABLE_FROM = 100


def in_filesort_order(rows: list[Sequence[Cell]], width: int, kinds: Sequence[Kind]) -> list[Sequence[Cell]]:
    """Rows that are sorted stably, with their ties as filesort leaves them.

    After `width` columns each row holds its sort keys, then its place in reading order.
    """
    if not _INSERTION < len(rows) < _STABLE_FROM:
        return rows
    places = width + len(kinds)
    ranks: dict[Sequence[Cell], int] = {}
    rank, previous = 0, None
    for row in rows:
        key = tuple(
            collation_key(cell) if kind == TEXT and isinstance(cell, str) else cell
            for cell, kind in zip(row[width:places], kinds, strict=True)
        )
        rank, previous = rank + (key != previous), key
        ranks[row] = rank
    read = sorted(rows, key=lambda row: tuple(cast(int, place or 0) for place in row[places:]))
    return [read[i] for i in filesort([ranks[row] for row in read])]


def filesort(ranks: Sequence[int]) -> list[int]:
    """Positions in sorted order, for rows given by their keys' ranks in reading order."""
    order = list(range(len(ranks)))
    if _INSERTION < len(ranks) < _STABLE_FROM:
        _introsort(order, ranks)
    for i in range(1, len(order)):  # the closing insertion sort, which is stable by itself
        position, j = order[i], i
        while j and ranks[position] < ranks[order[j - 1]]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = position
    return order


def _introsort(order: list[int], ranks: Sequence[int]) -> None:
    """Partition until every piece is short. The depth limit is never reached below 100 rows in practice."""
    pending = [(0, len(order))]
    while pending:
        first, last = pending.pop()
        while last - first > _INSERTION:
            _median_to_first(order, ranks, first, last)
            cut = _partition(order, ranks, first, last)
            pending.append((cut, last))
            last = cut


def _median_to_first(order: list[int], ranks: Sequence[int], first: int, last: int) -> None:
    """Swap the median of the second, middle and last element to the front."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = ranks[order[a]], ranks[order[b]], ranks[order[c]]
    median = (b if y < z else c if x < z else a) if x < y else a if x < z else c if y < z else b
    order[first], order[median] = order[median], order[first]


def _partition(order: list[int], ranks: Sequence[int], first: int, last: int) -> int:
    """Hoare's partition around the front element; the median guards both ends."""
    pivot = ranks[order[first]]
    low, high = first + 1, last
    while True:
        while ranks[order[low]] < pivot:
            low += 1
        high -= 1
        while pivot < ranks[order[high]]:
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1
