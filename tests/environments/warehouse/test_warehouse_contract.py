from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.conformance.environments import check_environment
from perdure.core.session import SessionRecord, SessionStatus
from perdure.core.types import Trial
from perdure.environments.warehouse import WORLD, WarehouseEnvironment
from perdure.environments.warehouse.actions import ACTION_PATTERN, WarehouseAction, parse_action
from tests.environments.warehouse.warehouse_play import oracle_for, oracle_verdicts, play_agent

read_action = WarehouseEnvironment().read_action


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"profile": "dense", "noise": 5},
        {"horizon": 40, "drift": "A", "placement": "any"},
        {"tier": "audit", "profile": "growth"},
    ],
)
def test_it_conforms(parameters: dict[str, Any]) -> None:
    parameters = {"horizon": 25, "tasks": 3, **parameters}
    results = check_environment(WORLD, lambda: WarehouseEnvironment(**parameters), sample=2)
    assert [result for result in results if not result.passed] == []


def test_the_package_offers_what_strategies_need() -> None:
    environment = WarehouseEnvironment()
    assert WORLD.state is not None
    support = WORLD.state(environment)
    assert support.no_op == "Wait"
    assert support.action_pattern == ACTION_PATTERN
    assert environment.read_action(WORLD.do_nothing) == "Wait"
    assert set(support.schema.model_json_schema()["properties"]) == {
        "inventory",
        "inbound",
        "open_orders",
    }


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Store item_7 shelf_0", WarehouseAction("Store", "item_7", "shelf_0")),
        ("I think so.\nAction: Ship item_7 shelf_12", WarehouseAction("Ship", "item_7", "shelf_12")),
        ("aCTION:move item_1 shelf_2  shelf_3", WarehouseAction("Move", "item_1", "shelf_2", "shelf_3")),
        ("Action: Wait\nAction: `Answer shelf_4`.", WarehouseAction("Answer", shelf="shelf_4")),
        (" wait ", WarehouseAction("Wait")),
    ],
)
def test_replies_that_hold_an_action(reply: str, action: WarehouseAction) -> None:
    assert parse_action(reply) == action


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Store item_7",
        "Store shelf_0 item_7",
        "Ship item_7 shelf_0 shelf_1",
        "Wait item_7",
        "Answer item_7",
        "Action: Wait\nAction: fly",
        "Store item_7 shelf_0 now",
        "Move item_٣ shelf_0 shelf_1",
        "Store item_12345678 shelf_0",
    ],
)
def test_replies_that_hold_none(reply: str) -> None:
    assert isinstance(parse_action(reply), str)
    assert read_action(reply) is None


@given(st.from_regex(ACTION_PATTERN, fullmatch=True))
def test_the_pattern_describes_exactly_what_is_parsed(command: str) -> None:
    assert read_action(command) == command
    assert read_action(f"Because.\naction:  {command}") == command


@given(st.text())
def test_whatever_is_read_as_an_action_matches_the_pattern(reply: str) -> None:
    form = read_action(reply)
    assert form is None or re.fullmatch(ACTION_PATTERN, form)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"tasks": 0}, "tasks"),
        ({"horizon": 9}, "horizon"),
        ({"horizon": 1001}, "horizon"),
        ({"noise": 7}, "noise must be one of 0, 5, 20, 50"),
        ({"profile": "sparse"}, "paper, growth, dense"),
        ({"shelves": 100, "profile": "dense"}, "shelves"),
        ({"drift": "A", "horizon": 10}, "at least 20"),
        ({"drift": "A", "tier": "late"}, "together"),
        ({"drift": "C", "horizon": 100, "step": 90}, "step"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WarehouseEnvironment(**parameters)


def test_the_version_tells_configurations_apart() -> None:
    assert WarehouseEnvironment().version == WarehouseEnvironment().version
    assert WarehouseEnvironment().version != WarehouseEnvironment(seed=1).version


def test_metrics_give_means_and_ratios_by_kind_of_event() -> None:
    environment = WarehouseEnvironment(tasks=2, drift="D", horizon=40)
    records = [
        SessionRecord(str(i), 0, SessionStatus.COMPLETED, verdict.outcome, verdict.reward, verdict.detail)
        for i, verdict in enumerate(oracle_verdicts(tasks=2, drift="D", horizon=40))
    ]
    metrics = environment.calculate_metric(records)
    assert metrics["overall.mean_score"] == metrics["event.arrival.correct_rate"] == 1.0
    assert metrics["overall.mean_recovery_steps"] == 12.0
    assert metrics["overall.mean_recovered"] == 0.0


def test_a_task_that_is_given_up_counts_what_was_not_played_as_failed() -> None:
    environment = WarehouseEnvironment(tasks=1, horizon=10)
    actions, _ = play_agent(environment, oracle_for(), "42")
    environment.reset(Trial("42"))
    environment.interact(actions[0])
    verdict = environment.complete()
    assert verdict.reward == pytest.approx(1 / 10)
    assert verdict.detail["actionable"] == 10
