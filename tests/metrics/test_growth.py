"""Fits against closed forms, published quantiles, and what chance does to intervals."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.growth import cumulative_exponent, slope, step_series, student_quantile
from perdure.storage.ledger import LedgerRow


@given(st.floats(-50, 50), st.floats(-5, 5), st.integers(3, 60))
def test_a_straight_line_is_found_exactly(start: float, growth: float, steps: int) -> None:
    fit = slope([[start + growth * t for t in range(1, steps + 1)]])
    assert fit is not None
    assert fit.value == pytest.approx(growth, abs=1e-9)
    assert fit.high - fit.low == pytest.approx(0, abs=1e-6)


def test_constant_prompts_add_up_to_exponent_one_and_growing_ones_to_two() -> None:
    constant = cumulative_exponent([[700.0] * 1000])
    growing = cumulative_exponent([[float(t) for t in range(1, 1001)]])
    assert constant is not None
    assert growing is not None
    assert constant.value == pytest.approx(1, abs=1e-9)
    assert growing.value == pytest.approx(2, abs=0.01)


def test_a_fixed_part_keeps_the_exponent_below_two_for_long() -> None:
    def exponent(steps: int) -> float:
        fit = cumulative_exponent([[1600.0 + 30 * t for t in range(1, steps + 1)]])
        assert fit is not None
        return fit.value

    assert exponent(100) < exponent(200) < exponent(1000) < 2
    assert exponent(100) < 1.6


def test_growth_at_a_fixed_size_is_told_from_growth_with_the_size() -> None:
    generator = random.Random(1)
    sizes = [10.0]
    for t in range(499):
        sizes.append(sizes[-1] + generator.choice((0, 1)) + 0.01 * t)
    prompts = [600 + 8 * size + generator.gauss(0, 3) for size in sizes]
    plain, at_fixed_size = slope([prompts]), slope([prompts], [sizes])
    assert plain is not None
    assert at_fixed_size is not None
    assert plain.low > 5
    assert at_fixed_size.contains(0)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    generator = random.Random(7)
    held_one = held_many = 0
    for _ in range(200):
        sessions = []
        for _ in range(4):
            noise, level = [], 0.0
            for _ in range(150):  # neighbours are correlated, as the sizes of states are
                level = 0.6 * level + generator.gauss(0, 5)
                noise.append(level)
            sessions.append([100 + 0.5 * t + e for t, e in enumerate(noise, 1)])
        one, many = slope(sessions[:1]), slope(sessions)
        assert one is not None
        assert many is not None
        held_one += one.contains(0.5)
        held_many += many.contains(0.5)
    assert held_one >= 170
    assert 180 <= held_many <= 198


def test_too_few_steps_are_no_fit() -> None:
    assert slope([[1.0, 2.0]]) is None
    assert slope([]) is None
    assert cumulative_exponent([[5.0, 6.0, 7.0]]) is None
    assert cumulative_exponent([[0.0] * 100]) is None
    with pytest.raises(ValueError, match="below 1"):
        cumulative_exponent([[1.0]], start=1.0)


@pytest.mark.parametrize(
    ("freedom", "published"),
    [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (15, 2.131), (30, 2.042), (60, 2.000), (120, 1.980)],
)
def test_students_quantiles(freedom: int, published: float) -> None:
    assert student_quantile(freedom) == pytest.approx(published, abs=0.001)


def test_no_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        student_quantile(0)


def test_steps_of_a_ledger_line_hold_the_calls_of_others() -> None:
    def call(caller: str, prompt: int, completion: int, seconds: float) -> list[object]:
        numbers[caller] += 1
        row = LedgerRow(
            1, caller, numbers[caller] - 1, "default", "asked", prompt, completion, 0, 0, seconds, 0.0
        )
        return list(row)

    numbers: Counter[str] = Counter()

    calls = [
        call("strategy", 9, 9, 9.0),
        call("agent", 100, 10, 1.0),
        call("strategy", 30, 3, 0.5),
        call("agent", 120, 20, 2.0),
    ]
    given_up = list(LedgerRow(0, "agent", 0, "default", "asked", 999, 9, 0, 0, 9.0, 0.0))
    lost = list(LedgerRow(1, "agent", 2, "default", "unanswered", 0, 0, 0, 0, 0.0, 0.0))
    series = step_series({"restarts": 1, "calls": [given_up, *calls, lost]})
    assert (series.prompts, series.tokens, series.seconds) == ([100, 120], [143, 140], [1.5, 2.0])
