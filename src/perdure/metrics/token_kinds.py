"""Tokens by what they were spent on: acting, memory upkeep, simulated users, judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from perdure.metrics.tokens import TokenTotals

TokenKind: TypeAlias = Literal["agent", "memory", "user_simulator", "judge"]


def token_kind(caller: str) -> TokenKind:
    """What tokens are for. Callers are `agent`, `agent:NAME` (votes on its actions), `strategy`,
    `callback:NAME`, `environment:NAME`."""
    kind, _, name = caller.partition(":")
    if "judge" in name or kind == "judge":
        return "judge"
    return {"callback": "memory", "environment": "user_simulator"}.get(kind, "agent")  # type: ignore[return-value]


def tokens_by_kind(callers: Mapping[str, TokenTotals]) -> dict[TokenKind, TokenTotals]:
    """Totals of the kinds that occur; together they are the totals of all callers."""
    kinds: dict[TokenKind, TokenTotals] = {}
    for caller, totals in callers.items():
        kind = token_kind(caller)
        kinds[kind] = kinds.get(kind, TokenTotals()) + totals
    return kinds
