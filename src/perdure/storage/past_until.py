"""Finished sessions up to a place, however many are committed by now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from perdure.core.session import PastSession, PastSessions, SessionRecord


class PastUntil(PastSessions):
    """The first `count` sessions of `past`."""

    def __init__(self, past: PastSessions, count: int) -> None:
        self._past = past
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> PastSession: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PastSession]: ...
    def __getitem__(self, index: int | slice) -> PastSession | Sequence[PastSession]:
        if isinstance(index, slice):
            return [self._past[i] for i in range(*index.indices(self._count))]
        return self._past[range(self._count)[index]]

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order."""
        return islice(self._past.records(), self._count)
