from __future__ import annotations

from math import inf, isclose
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.statistics import (
    bootstrap_interval,
    clustered_interval,
    holm,
    mcnemar,
    mean_interval,
    minimum_detectable_effect,
    paired_p_value,
    pass_power_k,
    signed_rank_p_value,
)
from perdure.metrics.success import wilson_interval

stats: Any = pytest.importorskip("scipy.stats")

REPEATS = 1000
RUNS = 9

VALUES = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=20)


def coverage(spread: float, interval: object, seed: int, repeats: int = 2 * REPEATS) -> float:
    """How often the interval covers the true mean of nine runs."""
    draw = np.random.default_rng(seed)
    hits = 0
    for _ in range(repeats):
        values = draw.normal(0.3, spread, RUNS).tolist()
        hits += interval(values).covers(0.3)  # type: ignore[operator]
    return hits / repeats


@pytest.mark.parametrize("interval", [mean_interval, bootstrap_interval])
def test_95_percent_intervals_over_nine_runs_cover_the_truth(interval: object) -> None:
    assert 0.935 <= coverage(0.1, interval, 11) <= 0.965


def test_a_percentile_bootstrap_over_nine_runs_does_not() -> None:
    """Why it is not offered."""
    draw = np.random.default_rng(5)
    hits = 0
    for _ in range(REPEATS):
        values = draw.normal(0.0, 1.0, RUNS)
        means = values[draw.integers(0, RUNS, (500, RUNS))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        hits += low <= 0 <= high
    assert hits / REPEATS < 0.92


def test_a_null_difference_of_runs_is_found_in_5_percent() -> None:
    draw = np.random.default_rng(23)
    found = [paired_p_value(draw.normal(0, 0.1, RUNS).tolist()) < 0.05 for _ in range(REPEATS)]
    assert 0.035 <= fmean(found) <= 0.065


def test_exact_mcnemar_never_finds_a_null_too_often() -> None:
    draw = np.random.default_rng(3)
    found = []
    for _ in range(REPEATS):
        won = int(draw.binomial(80, 0.5))
        found.append(mcnemar(won, 80 - won) < 0.05)
    assert 0.02 <= fmean(found) <= 0.05


def test_intervals_of_dependent_tasks_cover_when_they_are_clustered_by_run() -> None:
    draw = np.random.default_rng(8)
    clusters = [run for run in range(12) for _ in range(20)]
    robust = naive = 0
    for _ in range(REPEATS):
        values = (np.repeat(draw.normal(0, 0.3, 12), 20) + draw.normal(0, 0.5, 240)).tolist()
        robust += clustered_interval(values, clusters).covers(0)
        naive += mean_interval(values).covers(0)
    assert 0.935 <= robust / REPEATS <= 0.965
    assert naive / REPEATS < 0.8


@given(VALUES)
def test_the_t_interval_is_scipys(values: list[float]) -> None:
    found = mean_interval(values)
    spread = stats.sem(values)
    if not spread:
        assert isclose(found.low, found.high, abs_tol=1e-12)
        return
    low, high = stats.t.interval(0.95, len(values) - 1, loc=fmean(values), scale=spread)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


@given(VALUES)
def test_singletons_as_clusters_are_the_plain_interval(values: list[float]) -> None:
    plain, clustered = mean_interval(values), clustered_interval(values, range(len(values)))
    assert clustered.low == pytest.approx(plain.low, abs=1e-9)
    assert clustered.high == pytest.approx(plain.high, abs=1e-9)


@pytest.mark.parametrize("interval", [mean_interval, bootstrap_interval])
def test_one_run_says_nothing_about_the_spread(interval: object) -> None:
    found = interval([0.4])  # type: ignore[operator]
    assert (found.estimate, found.low, found.high) == (0.4, -inf, inf)


def test_equal_runs_have_an_interval_of_no_width() -> None:
    found = bootstrap_interval([0.5, 0.5, 0.5])
    assert (found.low, found.high) == (0.5, 0.5)


def test_the_bootstrap_is_the_same_again() -> None:
    values = [0.1, 0.45, 0.2, 0.5, 0.7, 0.33, 0.9]
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_sum(won: int, lost: int) -> None:
    from math import comb

    total, fewer = won + lost, min(won, lost)
    expected = min(1.0, 2 * sum(comb(total, i) for i in range(fewer + 1)) / 2**total)
    assert mcnemar(won, lost) == pytest.approx(expected)


def test_p_values_without_any_difference_are_1() -> None:
    assert paired_p_value([0.0, 0.0]) == signed_rank_p_value([0.0, 0.0]) == mcnemar(0, 0) == 1.0
    assert paired_p_value([0.2, 0.2, 0.2]) == 0.0
    assert paired_p_value([0.2]) == 1.0


def test_the_signed_rank_test_is_scipys() -> None:
    values = [0.3, -0.1, 0.2, 0.0, 0.4, 0.25, -0.05]
    expected = stats.wilcoxon([v for v in values if v]).pvalue
    assert signed_rank_p_value(values) == pytest.approx(expected)


def test_holm_adjusts_as_the_paper_says() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_monotone_and_between_the_value_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, a in zip(p_values, adjusted, strict=True):
        assert p <= a <= 1.0
        assert a <= max(len(p_values) * q for q in p_values)
    ordered = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
    assert ordered == sorted(ordered)


def test_the_detectable_effect_is_millers() -> None:
    # Miller (2024, section 5): about 1,000 questions find 3 points, variance of a difference 1/9.
    assert minimum_detectable_effect(969, discordant=1 / 9) == pytest.approx(0.03, abs=1e-4)
    assert minimum_detectable_effect(1) == 1.0
    assert minimum_detectable_effect(0) == inf
    with pytest.raises(ValueError, match="discordant"):
        minimum_detectable_effect(10, discordant=0)


def test_the_detectable_effect_is_detected_with_its_power() -> None:
    draw = np.random.default_rng(31)
    pairs, discordant = 400, 0.25
    effect = minimum_detectable_effect(pairs, discordant=discordant)
    won = draw.binomial(pairs, (discordant + effect) / 2, REPEATS)
    lost = np.array(
        [draw.binomial(pairs - w, (discordant - effect) / 2 / (1 - (discordant + effect) / 2)) for w in won]
    )
    z = (won - lost) / np.sqrt(won + lost)
    assert 0.75 <= fmean(np.abs(z) > 1.96) <= 0.85


def test_pass_power_k() -> None:
    assert pass_power_k([(4, 4), (2, 4)], 2) == pytest.approx((1 + 1 / 6) / 2)
    assert pass_power_k([(4, 4), (2, 3)], 4) is None
    assert pass_power_k([], 1) is None
    with pytest.raises(ValueError, match="k must be"):
        pass_power_k([(1, 1)], 0)


@given(st.integers(0, 6), st.integers(1, 6))
def test_pass_power_k_is_the_chance_of_k_draws_all_being_right(successes: int, k: int) -> None:
    from itertools import combinations

    successes = min(successes, 6)
    draws = list(combinations([True] * successes + [False] * (6 - successes), k))
    assert pass_power_k([(successes, 6)], k) == pytest.approx(fmean(map(all, draws)))


@given(st.integers(1, 300), st.data())
def test_wilson_is_scipys(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)
