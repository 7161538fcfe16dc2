from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus
from perdure.metrics.lifelong import (
    area_under_curve,
    count_trials,
    cumulative_reward,
    gain,
    mean_curve,
    online_curve,
    regret,
    skill_curves,
    trial_outcome,
)
from perdure.metrics.statistics import Interval, bootstrap_interval, mean_interval, paired_p_value
from perdure.metrics.success import wilson_interval
from perdure.metrics.token_kinds import tokens_by_kind
from perdure.metrics.tokens import TokenTotals
from perdure.metrics.transfer import Transfer, probe_matrix, segments, transfer
from tests.metrics.synthetic_learner import RUN_EFFECT, SyntheticLearner, record

REPEATS = 1000
RUNS = 9
LEARNER = SyntheticLearner()


def measured(matrix: list[list[float]]) -> tuple[float, float, float]:
    found = transfer(matrix, LEARNER.learned)
    assert found.forward is not None
    assert found.forgetting is not None
    assert found.held_out is not None
    return found.forward, found.forgetting, found.held_out


def stream_gain(draw: np.random.Generator, *, learns: bool = True) -> float:
    effect = draw.uniform(-RUN_EFFECT, RUN_EFFECT)
    stateless = LEARNER.stream(draw, learns=False, effect=effect)
    return gain(LEARNER.stream(draw, learns=learns, effect=effect), stateless)


@pytest.mark.parametrize("interval", [mean_interval, bootstrap_interval])
def test_intervals_cover_the_learners_forward_transfer_forgetting_and_generalisation(
    interval: Callable[[list[float]], Interval],
) -> None:
    draw = np.random.default_rng(42)
    hits = np.zeros(3)
    for _ in range(REPEATS):
        runs = [measured(LEARNER.matrix(draw)) for _ in range(RUNS)]
        truths = (LEARNER.forward, LEARNER.forgetting, LEARNER.generalisation)
        columns = [list(column) for column in zip(*runs, strict=True)]
        hits += [interval(c).covers(t) for c, t in zip(columns, truths, strict=True)]
    for share in hits / REPEATS:
        assert 0.935 <= share <= 0.965


def test_intervals_cover_the_learners_gain() -> None:
    draw = np.random.default_rng(12)
    hits = sum(
        mean_interval([stream_gain(draw) for _ in range(RUNS)]).covers(LEARNER.gain) for _ in range(REPEATS)
    )
    assert 0.935 <= hits / REPEATS <= 0.965


def test_a_method_that_learns_nothing_is_found_in_5_percent() -> None:
    draw = np.random.default_rng(77)
    found = sum(
        paired_p_value([stream_gain(draw, learns=False) for _ in range(RUNS)]) < 0.05 for _ in range(REPEATS)
    )
    assert 0.035 <= found / REPEATS <= 0.065


def test_the_measures_of_the_expected_matrix_are_the_closed_forms() -> None:
    forward, forgetting, held_out = measured(LEARNER.truth.tolist())
    assert forward == pytest.approx(LEARNER.forward)
    assert forgetting == pytest.approx(LEARNER.forgetting)
    assert held_out == pytest.approx(LEARNER.generalisation)


def test_transfer_by_hand() -> None:
    matrix = [[0.0, 0.2, 0.1], [0.9, 0.3, 0.1], [0.6, 0.8, 0.2]]
    found = transfer(matrix, [1, 2, None])
    assert found.forward == pytest.approx(0.1)
    assert found.backward == pytest.approx(-0.3)
    assert found.forgetting == pytest.approx(0.3)
    assert found.peak_forgetting == pytest.approx(0.3)
    assert found.held_out == pytest.approx(0.1)


def test_what_no_group_defines_is_none() -> None:
    assert transfer([[0.1], [0.9]], [1]) == Transfer(None, None, None, None, None)


@pytest.mark.parametrize("learned", [[0, 1], [1, 3], [1]])
def test_a_matrix_that_does_not_fit_is_refused(learned: list[int | None]) -> None:
    with pytest.raises(ValueError, match="groups"):
        transfer([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], learned)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=4, max_size=4))
def test_peak_forgetting_is_never_below_forgetting(matrix: list[list[float]]) -> None:
    found = transfer(matrix, [1, 2, 3])
    assert found.peak_forgetting is not None
    assert found.forgetting is not None
    assert found.peak_forgetting >= found.forgetting - 1e-12
    assert found.backward == -found.forgetting


def test_a_matrix_is_made_of_probes() -> None:
    before = [record("a", False), record("b", False), record("c", True), record("x", True)]
    after = [record("c", False), record("a", True), record("b", False), record("x", True)]
    columns, matrix = probe_matrix([before, after], {"a": "first", "b": "first", "c": "second"})
    assert columns == ["first", "second"]
    assert matrix == [[0.0, 1.0], [0.5, 0.0]]
    with pytest.raises(ValueError, match="checkpoint 1 holds no session of group 'second'"):
        probe_matrix([before, after[1:]], {"a": "first", "c": "second"})


def test_a_task_belongs_to_the_checkpoint_after_its_first_play() -> None:
    assert segments(["a", "b", "a", "c"], [0, 2, 4]) == {"a": 1, "b": 1, "c": 2}


OUTCOMES = st.builds(
    lambda status, outcome: record("t", status=status, outcome=outcome),
    st.sampled_from([status for status in SessionStatus if status.is_terminal]),
    st.sampled_from([outcome for outcome in EvaluationOutcome if outcome is not EvaluationOutcome.UNSET]),
)


@given(st.lists(OUTCOMES))
def test_every_trial_ends_in_exactly_one_outcome_and_none_is_dropped(records: list[SessionRecord]) -> None:
    found = count_trials(records)
    assert sum(found.counts.values()) == len(records)
    correct = sum(r.correct for r in records)
    assert found.counts.get("correct", 0) == correct
    counted = [r for r in records if r.outcome is not EvaluationOutcome.IGNORED]
    assert found.counts.get("ignored", 0) == len(records) - len(counted)
    assert found.rates["failed"] == found.rates["worst"] == (correct, len(counted))
    assert found.rates["excluded"] == (correct, len(counted) - found.counts.get("ungraded", 0))


@given(st.lists(OUTCOMES))
def test_ignored_trials_change_no_measure(records: list[SessionRecord]) -> None:
    numbered = [replace(r, task_id=str(i), reward=float(r.correct)) for i, r in enumerate(records)]
    rest = [r for r in numbered if not r.ignored]
    reference = [replace(r, outcome=EvaluationOutcome.CORRECT, reward=1.0) for r in numbered]
    assert online_curve(numbered) == online_curve(rest)
    assert area_under_curve(numbered) == area_under_curve(rest)
    assert regret(numbered, reference) == regret(rest, reference)
    assert regret(reference, numbered) == regret([reference[int(r.task_id)] for r in rest], rest)
    if rest:
        assert gain(numbered, reference) == gain(rest, reference)
        assert gain(reference, numbered) == -gain(rest, reference)
    skills = {r.task_id: ["x"] for r in numbered}
    assert skill_curves(numbered, skills).get("x", []) == online_curve(rest)


def test_a_probe_leaves_out_what_is_ignored() -> None:
    before = [record("a"), record("b", outcome=EvaluationOutcome.IGNORED), record("c", correct=False)]
    _, matrix = probe_matrix([before, before], {"a": 1, "b": 1, "c": 2})
    assert matrix == [[1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("status", "outcome", "expected"),
    [
        ("completed", "incorrect", "incorrect"),
        ("task_limit_reached", "incorrect", "limit_reached"),
        ("task_limit_reached", "correct", "correct"),
        ("agent_context_limit", "incorrect", "agent_error"),
        ("agent_validation_failed", "incorrect", "incorrect"),
        ("task_environment_error", "incorrect", "ungraded"),
        ("completed", "unknown", "ungraded"),
        ("task_environment_error", "ignored", "ignored"),
    ],
)
def test_outcomes(status: str, outcome: str, expected: str) -> None:
    made = record("t", status=SessionStatus(status), outcome=EvaluationOutcome(outcome))
    assert trial_outcome(made) == expected


def stream(solved: list[bool]) -> list[SessionRecord]:
    return [record(str(i), hit) for i, hit in enumerate(solved)]


@given(st.lists(st.booleans(), min_size=1))
def test_the_online_curve(solved: list[bool]) -> None:
    curve = online_curve(stream(solved))
    assert [point.tasks for point in curve] == list(range(1, len(solved) + 1))
    for n, point in enumerate(curve, 1):
        assert point.correct == sum(solved[:n])
        assert (point.low, point.high) == wilson_interval(sum(solved[:n]), n)
    assert area_under_curve(stream(solved)) == pytest.approx(sum(p.rate for p in curve) / len(curve))
    assert cumulative_reward(stream(solved)) == sum(solved)


def test_early_successes_weigh_more_in_the_area() -> None:
    assert area_under_curve(stream([True, False])) == 0.75
    assert area_under_curve(stream([False, True])) == 0.25
    assert area_under_curve([]) == 0.0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), st.randoms())
def test_regret_and_gain_are_paired_by_task(pairs: list[tuple[bool, bool]], random: object) -> None:
    mine, other = (list(column) for column in zip(*pairs, strict=True))
    reference = stream(other)
    random.shuffle(reference)  # type: ignore[attr-defined]
    losses = regret(stream(mine), reference)
    assert losses[-1] == sum(other) - sum(mine)
    assert gain(stream(mine), reference) == pytest.approx(-losses[-1] / len(pairs))


def test_a_reference_that_lacks_a_trial_is_refused() -> None:
    with pytest.raises(ValueError, match="no trial of task '1', repeat 0"):
        regret(stream([True, True]), stream([True]))


def test_the_mean_curve_takes_the_run_as_its_unit() -> None:
    curve = mean_curve([stream([True, True]), stream([False, True]), stream([True, False])])
    assert curve[0] == mean_interval([1.0, 0.0, 1.0])
    assert curve[1] == mean_interval([1.0, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"longer|shorter"):
        mean_curve([stream([True]), stream([True, True])])


def test_skill_curves() -> None:
    records = [record("a", True), record("b", False), record("a", False)]
    curves = skill_curves(records, {"a": ["x"], "b": ["x", "y"], "c": ["z"]})
    assert {skill: [point.correct for point in curve] for skill, curve in curves.items()} == {
        "x": [1, 1, 1],
        "y": [0],
    }


def test_tokens_are_split_by_what_they_were_for() -> None:
    callers = {
        "agent": TokenTotals(1, 10, 1),
        "strategy": TokenTotals(1, 5, 1),
        "callback:reflection": TokenTotals(2, 7, 3),
        "environment:customer_service": TokenTotals(1, 9, 9),
        "environment:judge": TokenTotals(1, 2, 2),
    }
    kinds = tokens_by_kind(callers)
    assert {kind: totals.prompt for kind, totals in kinds.items()} == {
        "agent": 15,
        "memory": 7,
        "user_simulator": 9,
        "judge": 2,
    }
    assert sum(kinds.values(), TokenTotals()) == sum(callers.values(), TokenTotals())
