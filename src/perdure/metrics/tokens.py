"""Tokens and their price, split by who asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.core.types import JSON
from perdure.storage.ledger import LedgerRow, rows_of

By: TypeAlias = Literal["caller", "model"]


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens; cached prompt tokens cost `cached` where it is given."""

    prompt: float
    completion: float
    cached: float | None = None


@dataclass(frozen=True)
class TokenTotals:
    """Calls and tokens. `cached` is part of `prompt`, `reasoning` part of `completion`.

    `unanswered` calls are among them: perhaps they were paid, and nobody told what they cost.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    seconds: float = 0.0
    unanswered: int = 0

    def __add__(self, other: TokenTotals) -> TokenTotals:
        return TokenTotals(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.seconds + other.seconds,
            self.unanswered + other.unanswered,
        )

    def cost(self, price: Price) -> float:
        """US dollars."""
        cached_price = price.prompt if price.cached is None else price.cached
        plain = self.prompt - self.cached
        return (plain * price.prompt + self.cached * cached_price + self.completion * price.completion) / 1e6


def add_ledger_line(totals: dict[str, TokenTotals], line: Mapping[str, JSON], *, by: By = "caller") -> None:
    """Add the calls of one task, all attempts of it, to the totals of their callers, or of their models.

    Cache hits and what another run's record answered cost no tokens.
    """
    for row in rows_of(line):
        key = row.caller if by == "caller" else row.model
        totals[key] = totals.get(key, TokenTotals()) + _totals(row)


def _totals(row: LedgerRow) -> TokenTotals:
    if row.answered == "asked":
        return TokenTotals(1, row.prompt, row.completion, row.cached, row.reasoning, row.seconds)
    return TokenTotals(calls=1, unanswered=int(row.answered == "unanswered"))
