"""Callback x strategy x environment: a method changes what it claims to, whatever a prompt looks like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.callbacks.max_prompt_growth import PromptGrowthExceeded
from perdure.experiment.registry import plugin_names
from tests.callbacks.matrix_parts import ENVIRONMENTS, HERE, SOLVED, STRATEGIES, WAYWARD, solution
from tests.sandboxes.availability import need_bubblewrap

PLUGIN = f"{HERE}:"
LEARNERS = {
    "experience_replay": SOLVED,
    "reflection": "Lessons from earlier tasks:",
    "skill_library": "Procedures that solved earlier tasks:",
}
"""Callback → what it puts into the prompt."""
GUARDS = {
    "group_self_consistency",
    "regenerate_on_invalid_action",
    "max_prompt_growth",
    "abort_on_agent_errors",
}
WATCHERS = {"progress", "save_current_session"}

matrix = pytest.mark.parametrize("environment", ENVIRONMENTS)
strategies = pytest.mark.parametrize("strategy", STRATEGIES)


def play(
    folder: Path, environment: str, strategy: str, callbacks: list[dict[str, Any]], **changes: Any
) -> perdure.Run:
    """The first task three times: right, right after an unreadable reply, and wayward."""
    if environment == "operating_system":
        need_bubblewrap()
    solution(environment)
    return perdure.run(
        {
            "environment": {"name": environment, **ENVIRONMENTS[environment]},
            "agent": {"strategy": {"name": strategy, **STRATEGIES[strategy]}, "retries": 0},
            "models": {"default": {"provider": "scripted", "replies": f"{PLUGIN}{environment}"}},
            "callbacks": callbacks,
            "execution": {"limit": 1, "repeat": 3, "fsync": False},
            **changes,
        },
        out=folder,
    )


def test_the_matrix_is_whole() -> None:
    assert {*LEARNERS, *GUARDS, *WATCHERS} == set(plugin_names("callback"))
    assert set(STRATEGIES) == set(plugin_names("strategy"))
    assert set(ENVIRONMENTS) == set(plugin_names("environment"))


@matrix
@strategies
def test_lessons_reach_every_prompt_and_no_valid_reply_is_refused(
    tmp_path: Path, environment: str, strategy: str
) -> None:
    watchers: list[dict[str, Any]] = [{"name": name} for name in [*sorted(WATCHERS), f"{PLUGIN}Witness"]]
    learners: list[dict[str, Any]] = [
        {"name": "experience_replay", "k": 1},
        {"name": "reflection", "model": "default"},
        {"name": "skill_library", "model": "default"},
    ]
    callbacks = [*learners, {"name": "regenerate_on_invalid_action"}, *watchers]
    run = play(tmp_path / "run", environment, strategy, callbacks)
    records = list(run.records())
    assert [record.correct for record in records] == [True] * 3
    assert [record.malformed for record in records] == [0, 1, 0]
    assert [record.turns - record.interactions for record in records] == [0, 1, 0]
    assert [record.fallbacks for record in records] == [0, 0, 0]
    for index in range(3):
        prompts = [call.messages for call in run.reader.calls(index) if call.caller == "agent"]
        for prompt in prompts:
            shown = "\n".join(message.text for message in prompt)
            assert [text in shown for text in LEARNERS.values()] == [index > 0] * 3
    events = [json.loads(line) for line in (run.folder / "witness.jsonl").read_text().splitlines()]
    expected = [
        [index, turn, turn] for index, record in enumerate(records) for turn in range(1, record.turns + 1)
    ]
    assert events == expected, "every inference is seen, retries too, and the session's file tells of it"


@matrix
@strategies
def test_votes_are_cast_and_change_the_action(tmp_path: Path, environment: str, strategy: str) -> None:
    votes = {"name": "group_self_consistency", "groups": 2, "group_size": 1}
    retry = {"name": "regenerate_on_invalid_action"}
    run = play(tmp_path / "run", environment, strategy, [retry, votes])
    assert [record.correct for record in run.records()] == [True] * 3
    delta = list(run.reader.lines())[WAYWARD]["callbacks"]["group_self_consistency"]
    _, right = solution(environment)
    assert len(delta["votes"]) == len(right)
    assert all(sum(turn["votes"].values()) == 3 for turn in delta["votes"])
    assert any(len(turn["votes"]) == 2 for turn in delta["votes"]), "the agent stood alone"
    alone = play(tmp_path / "alone", environment, strategy, [retry])
    assert list(alone.records())[WAYWARD].correct is False


@matrix
@strategies
def test_a_run_whose_model_is_gone_is_given_up(tmp_path: Path, environment: str, strategy: str) -> None:
    models = {"default": {"provider": "scripted", "replies": f"{PLUGIN}broken"}}
    guard = {"name": "abort_on_agent_errors", "tolerance": 1}
    run = play(tmp_path / "run", environment, strategy, [guard], models=models)
    assert [record.turns for record in run.records()] == [1, 0, 0]
    assert list(run.records())[1].finish_reason.startswith("given up")


@pytest.mark.parametrize("environment", ["warehouse", "repository"])
@pytest.mark.parametrize(
    ("strategy", "grows"),
    [("full_history", True), ("stateful", True), ("structured_state", False), ("sliding_window", False)],
)
def test_growing_prompts_end_a_run(tmp_path: Path, environment: str, strategy: str, grows: bool) -> None:
    guard = {"name": "max_prompt_growth", "tokens_per_step": 8.0, "every": 10}
    execution = {"limit": 1, "fsync": False}
    if not grows:
        run = play(tmp_path / "run", environment, strategy, [guard], execution=execution)
        assert [record.correct for record in run.records()] == [True]
        return
    with pytest.raises(PromptGrowthExceeded):
        play(tmp_path / "run", environment, strategy, [guard], execution=execution)
