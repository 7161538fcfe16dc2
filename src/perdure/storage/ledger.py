"""Tokens and times of a run, `ledger.jsonl`: everything that differs between two runs of the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from perdure.core.charges import Charge, Times
from perdure.core.types import JSON
from perdure.storage.files import line_at, lines_from, unseal

LEDGER_VERSION = 2


class LedgerRow(NamedTuple):
    """One call that was asked, as it stands in a line's `calls`. See `Charge`."""

    attempt: int
    caller: str
    number: int
    model: str
    answered: str
    prompt: int
    completion: int
    cached: int
    reasoning: int
    seconds: float
    started: float


_LINE: Mapping[str, type | tuple[type, ...]] = {
    "index": int,
    "task": str,
    "repeat": int,
    "started": (int, float),
    "seconds": (int, float),
    "resumes": int,
    "restarts": int,
    "divergences": int,
    "damaged": int,
    "calls": list,
}


def ledger_line(
    index: int, task: str, repeat: int, times: Times, charges: Iterable[Charge]
) -> dict[str, JSON]:
    """What one task cost: also its attempts that were given up."""
    return {
        "v": LEDGER_VERSION,
        "index": index,
        "task": task,
        "repeat": repeat,
        "started": times.started,
        "seconds": times.seconds,
        "resumes": times.resumes,
        "restarts": times.restarts,
        "divergences": times.divergences,
        "damaged": times.damaged,
        "calls": [list(_row(charge)) for charge in charges],
    }


def rows_of(line: Mapping[str, JSON]) -> Iterator[LedgerRow]:
    """Every call that a line charges, in the order in which they were asked."""
    return (LedgerRow(*row) for row in line["calls"])


def rows_that_count(line: Mapping[str, JSON]) -> list[LedgerRow]:
    """The answered calls of the attempt that counts, one for each number of a caller."""
    found = {
        (row.caller, row.number): row
        for row in rows_of(line)
        if row.attempt == line["restarts"] and row.answered != "unanswered"
    }
    return list(found.values())


class LedgerReader:
    """The lines of a ledger. One that cannot be read is lost, and its session unaccounted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[int, int] = {}
        self._scanned = 0

    def lines(self) -> Iterator[dict[str, JSON]]:
        """Every line that can be read."""
        return (line for text in lines_from(self._path) if (line := read_ledger_line(text)) is not None)

    def line(self, index: int) -> dict[str, JSON] | None:
        """The line of one session, or None where it is lost."""
        if index not in self._places:
            for text in lines_from(self._path, self._scanned):
                if (found := read_ledger_line(text)) is not None:
                    self._places[found["index"]] = self._scanned
                self._scanned += len(text)
        place = self._places.get(index)
        found = read_ledger_line(line_at(self._path, place)) if place is not None else None
        return found if found is not None and found["index"] == index else None


def read_ledger_line(text: bytes) -> dict[str, JSON] | None:
    """One line, or None where it is not what was written."""
    line = unseal(text)
    if line is None or line.get("v") != LEDGER_VERSION:
        return None
    if not all(isinstance(line.get(key), kind) for key, kind in _LINE.items()):
        return None
    if not all(isinstance(row, list) and len(row) == len(LedgerRow._fields) for row in line["calls"]):
        return None
    return line


def _row(charge: Charge) -> LedgerRow:
    usage = charge.usage
    return LedgerRow(
        charge.attempt,
        charge.caller,
        charge.number,
        charge.model,
        charge.answered,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        round(charge.seconds, 4),
        charge.started,
    )
