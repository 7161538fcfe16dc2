"""What can be known: oracle, windows, drifts and tiers."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from perdure.core.types import EvaluationOutcome, Message, Observation, Trial
from perdure.environments.skillexec.environment import true_states
from perdure.environments.warehouse import WarehouseEnvironment
from perdure.environments.warehouse.oracle import WarehouseOracle
from perdure.environments.warehouse.parameters import Drift, Profile, Tier
from perdure.environments.warehouse.perfect_reader import perfect_reader
from perdure.environments.warehouse.scoring import state_fidelity
from perdure.environments.warehouse.state import ForesightedState, WarehouseState
from tests.environments.warehouse.warehouse_play import (
    oracle_verdicts,
    play_agent,
    play_memory,
    play_state,
    play_window,
    window_score,
)

PROFILES = ("paper", "growth", "dense")
DRIFTS = ("A", "B", "C", "D", "D_prime")
WINDOWS = (0, 3, 8, 20, None)
TABLE: dict[tuple[str, str], tuple[float, ...]] = {
    ("paper", "any"): (0.36, 0.60, 0.78, 0.94, 1.0),
    ("paper", "lowest"): (0.01, 0.11, 0.32, 0.69, 1.0),
    ("growth", "lowest"): (0.01, 0.08, 0.19, 0.40, 1.0),
    ("dense", "lowest"): (0.0, 0.0, 0.0, 0.0, 1.0),
}
"""Score at T = 100 of a perfect agent that remembers w turns; a column a window."""


class DeafOracle(WarehouseOracle):
    """Takes note of everything but alerts."""

    def observe(self, observation: Observation) -> None:
        lines = [line for line in observation.text.splitlines() if "alert" not in line]
        super().observe(Observation("\n".join(lines)))


def assert_perfect(**parameters: Any) -> None:
    for verdict in oracle_verdicts(**parameters):
        assert verdict.reward == 1.0, (parameters, verdict)
        assert verdict.outcome is EvaluationOutcome.CORRECT
        assert verdict.detail["refused"] == verdict.detail["needless"] == 0


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("placement", ["lowest", "any"])
def test_the_oracle_is_perfect(profile: str, placement: str) -> None:
    assert_perfect(tasks=2, profile=profile, placement=placement, horizon=200, noise=5)


@pytest.mark.full
@pytest.mark.parametrize(("profile", "horizon"), list(product(PROFILES, (10, 25, 50, 100, 200, 500, 1000))))
def test_the_oracle_is_perfect_everywhere(profile: str, horizon: int) -> None:
    for noise, tier in product((0, 5, 20, 50), ("random", "near_miss", "override")):
        assert_perfect(tasks=5, profile=profile, horizon=horizon, noise=noise, noise_tier=tier)
    for drift in DRIFTS if horizon >= 50 else ():
        assert_perfect(tasks=5, profile=profile, horizon=horizon, drift=drift)
    for tier in ("unforeseen", "late", "audit"):
        assert_perfect(tasks=5, profile=profile, horizon=horizon, tier=tier)


def test_a_small_warehouse_never_overflows() -> None:
    assert_perfect(tasks=2, profile="growth", shelves=20, horizon=500, tier="unforeseen")


@pytest.mark.parametrize("profile", PROFILES)
def test_without_memory_nothing_is_right_under_strict_placement(profile: str) -> None:
    assert window_score(0, tasks=10, profile=profile) <= 0.05


@pytest.mark.parametrize("key", TABLE)
def test_a_short_window_scores_as_tabled(key: tuple[str, str]) -> None:
    profile, placement = key
    score = window_score(3, tasks=60, profile=profile, placement=placement)
    assert score == pytest.approx(TABLE[key][1], abs=0.05)


@pytest.mark.full
@pytest.mark.parametrize("key", TABLE)
def test_every_window_scores_as_tabled(key: tuple[str, str]) -> None:
    profile, placement = key
    # The score of one seed varies by a quarter (w = 20): many seeds, or the mean itself wanders by 0.03.
    scores = [window_score(turns, tasks=120, profile=profile, placement=placement) for turns in WINDOWS]
    assert scores == pytest.approx(TABLE[key], abs=0.05)


@pytest.mark.parametrize("drift", ["A", "B", "C", "D_prime"])
def test_the_oracle_recovers_at_once(drift: str) -> None:
    for profile in PROFILES:
        for verdict in oracle_verdicts(tasks=3, profile=profile, horizon=50, drift=drift):
            assert verdict.detail["recovery_steps"] == 0
            assert verdict.detail["recovered"] is True


def test_nobody_recovers_from_what_cannot_be_undone() -> None:
    for verdict in oracle_verdicts(tasks=3, horizon=50, drift="D"):
        assert verdict.detail["recovery_steps"] == 12
        assert verdict.detail["recovered"] is False
        assert verdict.reward == 1.0, "what cannot be answered is not scored"
        assert verdict.detail["needless"] == 0


@pytest.mark.parametrize("drift", ["A", "B", "C", "D_prime"])
def test_an_agent_that_does_not_hear_the_alert_recovers_late(drift: Drift) -> None:
    environment = WarehouseEnvironment(tasks=4, horizon=60, profile="growth", drift=drift)
    for task in environment.task_ids():
        _, verdict = play_agent(environment, DeafOracle("lowest", 500), task)
        steps = verdict.detail["recovery_steps"]
        assert isinstance(steps, int)
        assert steps >= 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_state_is_all_that_is_needed(profile: Profile) -> None:
    environment = WarehouseEnvironment(tasks=2, profile=profile)
    for task in environment.task_ids():
        verdict, states, actions = play_state(environment, task, WarehouseState().model_dump())
        assert verdict.reward == 1.0
        WarehouseState.model_validate(states[-1])
        truth = list(true_states(environment, Trial(task), actions))
        assert len(truth) == len(states)
        assert state_fidelity(states[-1], truth[-1]) == 1.0


def test_deleting_the_state_at_each_step_is_as_bad_as_no_memory() -> None:
    environment = WarehouseEnvironment(tasks=5)

    def amnesiac(messages: list[Message]) -> str:
        text = messages[-1].text
        return perfect_reader([messages[0], Message("user", text[text.rindex("```") + 4 :])])

    scores = [play_state(environment, task, {}, amnesiac)[0].reward for task in environment.task_ids()]
    assert sum(scores) / len(scores) <= 0.05


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_state_survives_a_drift(drift: Drift) -> None:
    environment = WarehouseEnvironment(tasks=2, horizon=50, drift=drift)
    for task in environment.task_ids():
        verdict, _, _ = play_state(environment, task, {})
        assert verdict.reward == 1.0
        assert verdict.detail["recovery_steps"] == (12 if drift == "D" else 0)


@pytest.mark.parametrize("tier", ["unforeseen", "late", "audit"])
def test_a_tier_needs_what_the_schema_does_not_foresee(tier: Tier) -> None:
    environment = WarehouseEnvironment(tasks=3, profile="growth", tier=tier)
    for task in environment.task_ids():
        plain, _, _ = play_state(environment, task, WarehouseState().model_dump())
        foresighted, _, _ = play_state(environment, task, ForesightedState().model_dump())
        history = play_window(environment, task, None)
        assert plain.reward < foresighted.reward == history.reward == 1.0


@pytest.mark.parametrize(
    "parameters",
    [{"profile": "growth"}, {"tier": "audit"}, {"tier": "late"}, {"horizon": 50, "drift": "B"}, {"noise": 5}],
)
def test_a_perfect_summary_loses_nothing(parameters: dict[str, Any]) -> None:
    environment = WarehouseEnvironment(tasks=2, **parameters)
    assert [play_memory(environment, task).reward for task in environment.task_ids()] == [1.0, 1.0]


def test_fidelity_counts_pairs_and_lists() -> None:
    truth = {
        "inventory": {"shelf_0": "item_1", "shelf_1": "item_2"},
        "inbound": [],
        "open_orders": ["item_1"],
    }
    assert state_fidelity(truth, truth) == 1.0
    assert state_fidelity({}, {}) == 1.0
    assert state_fidelity({"inventory": {"shelf_0": "item_1"}}, truth) == pytest.approx(2 / 4)
    assert state_fidelity({"inventory": ["shelf_0"], "open_orders": None}, truth) == 0.0
    assert state_fidelity("nonsense", truth) == 0.0
