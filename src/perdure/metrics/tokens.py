"""Tokens and their price, split by who asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perdure.core.types import JSON


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens; cached prompt tokens cost `cached` where it is given."""

    prompt: float
    completion: float
    cached: float | None = None


@dataclass(frozen=True)
class TokenTotals:
    """Calls and tokens. `cached` is part of `prompt`, `reasoning` part of `completion`."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    seconds: float = 0.0

    def __add__(self, other: TokenTotals) -> TokenTotals:
        return TokenTotals(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.seconds + other.seconds,
        )

    def cost(self, price: Price) -> float:
        """US dollars."""
        cached_price = price.prompt if price.cached is None else price.cached
        plain = self.prompt - self.cached
        return (plain * price.prompt + self.cached * cached_price + self.completion * price.completion) / 1e6


def add_ledger_line(totals: dict[str, TokenTotals], line: Mapping[str, JSON]) -> None:
    """Add the calls of one task to the totals of their callers. Cache hits cost no tokens."""
    for caller, _model, source, prompt, completion, cached, reasoning, seconds in line["calls"]:
        paid = (
            TokenTotals(1, prompt, completion, cached, reasoning, seconds)
            if source != "cache"
            else TokenTotals(calls=1)
        )
        totals[caller] = totals.get(caller, TokenTotals()) + paid
