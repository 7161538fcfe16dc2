from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.conformance.environments import check_environment
from perdure.core.session import SessionRecord, SessionStatus
from perdure.environments.repository import WORLD, RepositoryEnvironment
from perdure.environments.repository.actions import ACTION_PATTERN, VERBS, RepositoryAction, parse_action
from perdure.environments.repository.parameters import Verbs
from tests.environments.repository.repository_play import oracle_verdicts

read_action = RepositoryEnvironment().read_action


@pytest.mark.parametrize(
    "parameters",
    [{}, {"verbs": "main", "noise": 5}, {"verbs": "appendix"}, {"horizon": 40, "drift": "A"}],
)
def test_it_conforms(parameters: dict[str, Any]) -> None:
    parameters = {"horizon": 25, "tasks": 3, **parameters}
    results = check_environment(WORLD, lambda: RepositoryEnvironment(**parameters), sample=2)
    assert [result for result in results if not result.passed] == []


def test_the_package_offers_what_strategies_need() -> None:
    environment = RepositoryEnvironment()
    assert WORLD.state is not None
    support = WORLD.state(environment)
    assert support.no_op == "Wait"
    assert support.action_pattern == ACTION_PATTERN
    assert environment.read_action(WORLD.do_nothing) == "Wait"
    properties = support.schema.model_json_schema()["properties"]
    assert set(properties) == {"branches", "commits", "prs", "ci", "releases"}


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Commit topic_7 file_3", RepositoryAction("Commit", "topic_7", "file_3")),
        ("Fresh.\nAction: Merge pr_12", RepositoryAction("Merge", "pr_12")),
        ("action: runtests MAIN", RepositoryAction("RunTests", "main")),
        (
            "Action: Wait\nAction: `CherryPick c_0a1b2c line_3`.",
            RepositoryAction("CherryPick", "c_0a1b2c", "line_3"),
        ),
        ("CreateRelease v_3 c_0", RepositoryAction("CreateRelease", "v_3", "c_0")),
        ("Rollback v_3", RepositoryAction("Rollback", "v_3")),
        (" wait ", RepositoryAction("Wait")),
    ],
)
def test_replies_that_hold_an_action(reply: str, action: RepositoryAction) -> None:
    assert parse_action(reply) == action


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Commit topic_7",
        "Merge topic_7",
        "Merge 12",
        "Wait main",
        "Action: Wait\nAction: Push main",
        "FixCI v_1",
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


@pytest.mark.parametrize("verbs", VERBS)
def test_instructions_name_exactly_the_verbs_that_there_are(verbs: Verbs) -> None:
    text = RepositoryEnvironment(verbs=verbs).instructions
    described = {verb for verb in VERBS["union"] if re.search(rf"^{verb} ", text, re.MULTILINE)}
    assert described == set(VERBS[verbs])
    mentioned = {verb for verb in VERBS["union"] if re.search(rf"\b{verb}\b", text)}
    assert mentioned == set(VERBS[verbs])


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"tasks": 0}, "tasks"),
        ({"horizon": 9}, "horizon"),
        ({"verbs": "all"}, "main, appendix, union"),
        ({"noise": 1}, "noise must be one of 0, 5, 20, 50"),
        ({"drift": "A", "verbs": "appendix", "horizon": 50}, "backports"),
        ({"drift": "B", "horizon": 20}, "at least 24"),
        ({"probes": 13}, "probes"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        RepositoryEnvironment(**parameters)


def test_metrics_give_both_scores_of_the_paper() -> None:
    environment = RepositoryEnvironment(tasks=2)
    records = [
        SessionRecord(str(i), 0, SessionStatus.COMPLETED, verdict.outcome, verdict.reward, verdict.detail)
        for i, verdict in enumerate(oracle_verdicts(tasks=2))
    ]
    metrics = environment.calculate_metric(records)
    assert metrics["overall.mean_score"] == metrics["overall.mean_feature_score"] == 1.0
    assert metrics["event.backport.correct_rate"] == 1.0
