from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.success import wilson_interval

# Known values of Wilson's score interval without continuity correction (Newcombe 1998, table I, method 3).
NEWCOMBE = [
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0000, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("successes", "trials", "low", "high"), NEWCOMBE)
def test_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_without_trials_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (1, 0)])
def test_impossible_counts(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {trials} trials"):
        wilson_interval(successes, trials)


counts = st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_the_interval_holds_the_rate_and_mirrors(count: tuple[int, int]) -> None:
    successes, trials = count
    low, high = wilson_interval(successes, trials)
    assert 0.0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1.0
    assert low < high
    mirrored = wilson_interval(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(counts)
def test_more_of_the_same_narrows_and_more_confidence_widens(count: tuple[int, int]) -> None:
    successes, trials = count
    low, high = wilson_interval(successes, trials)
    more_low, more_high = wilson_interval(4 * successes, 4 * trials)
    assert more_high - more_low < high - low
    wide_low, wide_high = wilson_interval(successes, trials, confidence=0.99)
    assert wide_high - wide_low > high - low
