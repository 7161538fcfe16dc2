from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.tokens import Price, TokenTotals, add_ledger_line

totals = st.builds(TokenTotals, *[st.integers(0, 10**6)] * 5, st.just(0.0))


def test_price_for_a_million_tokens() -> None:
    used = TokenTotals(calls=1, prompt=1_000_000, completion=500_000)
    assert used.cost(Price(2.0, 8.0)) == pytest.approx(6.0)


def test_cached_tokens_cost_their_own_price_where_there_is_one() -> None:
    used = TokenTotals(calls=1, prompt=1_000_000, completion=0, cached=400_000)
    assert used.cost(Price(2.0, 8.0)) == pytest.approx(2.0)
    assert used.cost(Price(2.0, 8.0, cached=0.5)) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5)
    assert used.cost(Price(2.0, 8.0, cached=0.0)) == pytest.approx(1.2)


def test_reasoning_tokens_are_part_of_the_completion() -> None:
    plain, thinking = TokenTotals(1, 10, 100), TokenTotals(1, 10, 100, reasoning=90)
    assert plain.cost(Price(1.0, 1.0)) == thinking.cost(Price(1.0, 1.0))


def test_a_ledger_line_is_added_to_its_callers() -> None:
    found: dict[str, TokenTotals] = {}
    line = {
        "calls": [
            [0, "agent", 0, "m", "asked", 100, 10, 5, 2, 0.5, 0.0],
            [1, "critic", 0, "n", "asked", 50, 5, 0, 0, 0.25, 0.0],
            [1, "agent", 0, "m", "cache", 100, 10, 5, 2, 0.0, 0.0],
            [1, "agent", 1, "m", "unanswered", 0, 0, 0, 0, 0.0, 0.0],
            [1, "agent", 2, "m", "log", 100, 10, 5, 2, 0.5, 0.0],
        ]
    }
    add_ledger_line(found, line)
    assert found == {
        "agent": TokenTotals(4, 100, 10, 5, 2, 0.5, unanswered=1),
        "critic": TokenTotals(1, 50, 5, 0, 0, 0.25),
    }
    add_ledger_line(found, line)
    assert found["agent"] == TokenTotals(8, 200, 20, 10, 4, 1.0, unanswered=2)
    by_model: dict[str, TokenTotals] = {}
    add_ledger_line(by_model, line, by="model")
    assert {model: totals.prompt for model, totals in by_model.items()} == {"m": 100, "n": 50}


@given(totals, totals, st.floats(0, 100), st.floats(0, 100))
def test_cost_adds_up(one: TokenTotals, other: TokenTotals, prompt: float, completion: float) -> None:
    price = Price(prompt, completion)
    assert (one + other).cost(price) == pytest.approx(one.cost(price) + other.cost(price), abs=1e-6)
    assert one + TokenTotals() == one
    assert one + other == other + one
