"""What can be known: oracle, windows, drifts; and where the perfect reader finds it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.types import EvaluationOutcome, Message, Observation, Trial
from perdure.environments.repository import (
    RepositoryEnvironment,
)
from perdure.environments.repository.oracle import RepositoryOracle
from perdure.environments.repository.parameters import Drift, Verbs
from perdure.environments.repository.perfect_reader import perfect_reader, perfect_summary
from perdure.environments.repository.scoring import state_fidelity
from perdure.environments.repository.state import RepositoryState
from perdure.environments.skillexec.environment import true_states
from tests.environments.repository.repository_play import (
    oracle_verdicts,
    play_agent,
    play_memory,
    play_state,
    window_score,
)

VERBS = ("union", "main", "appendix")


class DeafOracle(RepositoryOracle):
    """Takes note of everything but alerts."""

    def observe(self, observation: Observation) -> None:
        lines = [line for line in observation.text.splitlines() if "alert" not in line]
        super().observe(Observation("\n".join(lines)))


def assert_perfect(**parameters: Any) -> None:
    for verdict in oracle_verdicts(**parameters):
        assert verdict.reward == 1.0, (parameters, verdict)
        assert verdict.outcome is EvaluationOutcome.CORRECT
        assert verdict.detail["feature_score"] in (1.0, None)
        assert verdict.detail["refused"] == verdict.detail["needless"] == 0
        assert verdict.detail["breaking_merges"] == 0


@pytest.mark.parametrize("verbs", VERBS)
def test_the_oracle_is_perfect(verbs: str) -> None:
    assert_perfect(tasks=3, verbs=verbs, horizon=200, noise=5)


@pytest.mark.full
@pytest.mark.parametrize(("verbs", "horizon"), list(product(VERBS, (10, 25, 50, 100, 200, 500, 1000))))
def test_the_oracle_is_perfect_everywhere(verbs: str, horizon: int) -> None:
    for noise, tier in product((0, 5, 20, 50), ("random", "near_miss", "override")):
        assert_perfect(tasks=5, verbs=verbs, horizon=horizon, noise=noise, noise_tier=tier)
    for drift in "ABC" if horizon >= 50 else "":
        if (verbs, drift) != ("appendix", "A"):
            assert_perfect(tasks=5, verbs=verbs, horizon=horizon, drift=drift)


@pytest.mark.parametrize("verbs", ["union", "main"])
def test_the_blind_floor_is_at_most_a_quarter(verbs: str) -> None:
    assert window_score(0, tasks=20, verbs=verbs) <= 0.25


def test_a_longer_window_scores_better_and_everything_is_enough() -> None:
    scores = [window_score(turns, tasks=6, horizon=50) for turns in (0, 3, 20, None)]
    assert scores == sorted(scores)
    assert scores[2] < scores[3] == 1.0


@pytest.mark.parametrize(
    ("verbs", "drift"), [("union", "A"), ("main", "A"), ("union", "B"), ("appendix", "B")]
)
def test_the_oracle_recovers_at_once_and_a_deaf_one_late(verbs: Verbs, drift: Drift) -> None:
    environment = RepositoryEnvironment(tasks=4, horizon=60, verbs=verbs, drift=drift)
    for task in environment.task_ids():
        _, heard = play_agent(environment, RepositoryOracle(verbs), task)
        _, missed = play_agent(environment, DeafOracle(verbs), task)
        assert heard.detail["recovery_steps"] == 0
        assert heard.detail["recovered"] is True
        steps = missed.detail["recovery_steps"]
        assert isinstance(steps, int)
        assert steps >= 1


def test_nobody_recovers_from_what_cannot_be_undone() -> None:
    for verdict in oracle_verdicts(tasks=3, horizon=60, drift="C"):
        assert verdict.detail["recovery_steps"] == 12
        assert verdict.detail["recovered"] is False
        assert verdict.reward == 1.0, "what cannot be answered is not scored"
        assert verdict.detail["needless"] == 0


@pytest.mark.parametrize(
    "knobs", [{"verbs": verbs} for verbs in VERBS] + [{"drift": drift} for drift in "ABC"]
)
def test_a_state_is_all_that_is_needed(knobs: dict[str, Any]) -> None:
    environment = RepositoryEnvironment(tasks=2, **knobs)
    for task in environment.task_ids():
        verdict, states, actions = play_state(environment, task, RepositoryState().model_dump())
        assert verdict.reward == 1.0
        RepositoryState.model_validate(states[-1])
        truth = list(true_states(environment, Trial(task), actions))
        fidelity = [state_fidelity(state, true) for state, true in zip(states, truth, strict=True)]
        # New ids are told with the next observation: a state is one step behind after each of them.
        assert 0.8 < sum(fidelity) / len(fidelity) < 1.0
        behind = [state_fidelity(state, true) for state, true in zip(states[1:], truth, strict=False)]
        assert max(fidelity + behind) == 1.0


@pytest.mark.parametrize("knobs", [{}, {"verbs": "main"}, {"drift": "A"}, {"drift": "C"}, {"noise": 5}])
def test_a_perfect_summary_loses_nothing(knobs: dict[str, Any]) -> None:
    environment = RepositoryEnvironment(tasks=2, **knobs)
    assert [play_memory(environment, task).reward for task in environment.task_ids()] == [1.0, 1.0]


INSTRUCTIONS = Message("system", RepositoryEnvironment().instructions)
PAST = [
    Message("user", "Answer 100 events rightly.\nEvent: issue_7 needs file_1 on topic_5."),
    Message("agent", "Action: Commit topic_5 file_1"),
    Message(
        "user",
        "Result: accepted, c_ab made on topic_5 with file_1 for issue_7.\n"
        "Event: topic_5 is ready for review.",
    ),
    Message("agent", "Action: CreatePR topic_5"),
]
LATEST = Message("user", "Result: accepted, pr_9 opened for topic_5.\nEvent: pr_9 was approved.")


def test_a_transcript_inside_one_message() -> None:
    transcript = "\n".join(f"{message.role}: {message.text}" for message in [*PAST, LATEST])
    assert (
        perfect_reader([Message("user", f"{INSTRUCTIONS.text}\n\n{transcript}")])
        == "Action: RunTests topic_5"
    )


def test_a_state_beside_a_transcript_is_what_counts() -> None:
    state = RepositoryState.model_validate(
        {
            "branches": {"main": "c_1", "topic_5": "c_ab"},
            "prs": {"pr_9": {"branch": "topic_5"}},
            "ci": {"topic_5": {"status": "passed", "tested_head": "c_ab", "tested_base": "c_1"}},
        }
    )
    shown = json.dumps(state.model_dump(), indent=2)
    prompt = [INSTRUCTIONS, Message("user", f"State:\n{shown}"), *PAST, LATEST]
    assert perfect_reader(prompt) == "Action: Merge pr_9"


def test_a_summary_is_read_back() -> None:
    summary = perfect_summary([INSTRUCTIONS, *PAST])
    backport = Message(
        "user", "Result: accepted, pr_9 opened for topic_5.\nEvent: backport issue_7 to line_2."
    )
    assert (
        perfect_reader([INSTRUCTIONS, Message("user", summary), backport]) == "Action: CherryPick c_ab line_2"
    )
    assert perfect_summary([INSTRUCTIONS, Message("user", summary)]) == summary


roles = st.sampled_from(("system", "user", "agent"))
pieces = st.sampled_from(
    [
        PAST[0].text,
        PAST[2].text,
        LATEST.text,
        "Result: accepted, pr_9 merged as c_ff.",
        "Result: accepted, c_ab made on topic_5 as a fix.",
        "Event: alert: topic_5 was force-pushed, c_ee replaces c_ab.",
        "Event: alert: pr_9 was closed by somebody else.",
        "Event: v_1 is broken in production.",
        '{"branches": {"main": 3}, "commits": [], "prs": {"pr_9": 1}, "ci": {"x": {}}, "releases": [null]}',
        '{"branches": {',
        "Summary of tests: topic_5 passed - -, x",
        "Summary of pull requests: pr_9 topic_5 open ²",
        "state_patch",
        "StateUpdate",
    ]
)


def message(role: Literal["system", "user", "agent"], parts: list[str]) -> Message:
    return Message(role, "\n".join(parts))


@given(st.lists(st.builds(message, roles, st.lists(st.one_of(pieces, st.text()))), max_size=6))
def test_any_prompt_gets_a_valid_action(messages: list[Message]) -> None:
    reply = perfect_reader(messages)
    if reply.startswith("```json\n"):
        reply = json.loads(reply[8:-4])["action"]
    assert RepositoryEnvironment().read_action(reply) is not None
    assert isinstance(perfect_summary(messages), str)
