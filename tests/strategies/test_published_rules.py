"""`compat = "paper"` gives a strategy the rules of its paper back, and reports say which are in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError
from perdure.core.types import JSON, Completion, Observation
from perdure.experiment.config import load_config
from perdure.experiment.registry import load_plugin
from perdure.experiment.rules import rules_of
from perdure.reports.facts import run_facts
from perdure.reports.record_notes import record_notes
from perdure.state import PatchJournal
from perdure.strategies.stateful import Stateful
from perdure.strategies.structured_state import StructuredState
from tests.strategies.playing import GOAL, INSTRUCTIONS, play

BASELINES: dict[str, dict[str, Any]] = {
    "full_history": {},
    "memory": {},
    "stateful": {},
    "sliding_window": {"turns": 2},
    "capped_summary": {"summary_tokens": 40},
    "prompt_compression": {"budget_tokens": 4000},
}


def run(folder: Path, strategy: dict[str, Any], replies: list[str], **agent: Any) -> perdure.Run:
    return perdure.run(
        {
            "environment": {"name": "counter", "tasks": 1},
            "agent": {"strategy": strategy, **agent},
            "models": {"default": {"provider": "scripted", "replies": replies, "cycle": True}},
            "limits": {"max_interactions": 2},
        },
        out=folder,
    )


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_of_the_paper_asks_once_and_hands_the_reply_on(tmp_path: Path, name: str) -> None:
    strategy = {"name": name, **BASELINES[name]}
    shared = run(tmp_path / "shared", strategy, ["hm"])
    paper = run(tmp_path / "paper", {**strategy, "compat": "paper"}, ["hm"])
    (ours,), (theirs,) = shared.records(), paper.records()
    assert (ours.turns, ours.fallbacks) == (6, 2)
    assert (theirs.turns, theirs.fallbacks) == (2, 2)
    assert {step.action for step in shared.sessions[0].interactions} == {"Action: read"}
    assert {step.action for step in paper.sessions[0].interactions} == {"hm"}


def test_the_state_of_the_paper_retries_and_waits(tmp_path: Path) -> None:
    paper = run(tmp_path / "run", {"name": "structured_state", "compat": "paper"}, ["hm"])
    (record,) = paper.records()
    assert (record.turns, record.fallbacks) == (6, 2)
    assert {step.action for step in paper.sessions[0].interactions} == {"Action: read"}
    options = json.loads(next(iter(paper.reader.calls(0))).options)
    assert options["schema"] is None


def answer(patch: JSON) -> Completion:
    return Completion(f"Free thoughts.\n```json\n{json.dumps({'state_patch': patch, 'action': 'go'})}\n```")


def notes_of(strategy: StructuredState) -> JSON:
    return PatchJournal.from_trace(strategy.trace()).last_state()["notes"]


def test_the_state_of_the_paper_has_no_guards_and_changes_before_the_action() -> None:
    full = {"notes": {f"k{i}": "x" for i in range(9)}}
    empty = {"notes": dict.fromkeys(full["notes"])}
    for compat, lost in (("none", False), ("paper", True)):
        strategy = StructuredState(compat=compat)  # type: ignore[arg-type]
        list(play(strategy, []))
        for patch in (full, empty):
            strategy.absorb(answer(patch))
            strategy.observe(Observation("refused", accepted=compat == "none"))
        assert (notes_of(strategy) == {}) is lost
    held = StructuredState(compat="paper", max_deletions=3, commit="on_accept", constrained=True)
    list(play(held, []))
    held.absorb(answer(full))
    held.observe(Observation("refused", accepted=False))
    assert notes_of(held) == {}, "what is given wins"
    assert held.schema is not None


def test_layouts_of_the_papers() -> None:
    first, *_ = play(StructuredState(compat="paper"), [])
    assert first[0].text == f"{INSTRUCTIONS}\n\n# Your goal\n{GOAL}"
    text = first[1].text
    assert text.index("State:") < text.index("Latest observation:") < text.index("# Your answer")
    assert text.endswith("```")
    full = load_plugin("strategy", "full_history").target
    *_, prompt = play(full(acknowledged=True), [("press", "light")])
    assert [(m.role, m.text) for m in prompt[:3]] == [
        ("system", "You are a helpful assistant."),
        ("user", INSTRUCTIONS),
        ("agent", "OK."),
    ]
    assert prompt[3].text.startswith(GOAL)
    *_, state = play(Stateful(compat="paper"), [('StateUpdate: {"a": {"x": 1}}', "no")], accepted=False)
    assert '"x": 1' in state[1].text, "the state changes whatever becomes of the action"


@pytest.mark.parametrize(
    ("agent", "environment", "told"),
    [
        ({}, {}, "2 retries a step, alike for all strategies"),
        ({"retries": 0}, {}, "no retries, alike for all strategies"),
        (
            {"strategy": {"name": "structured_state", "compat": "paper"}},
            {},
            "2 retries a step; strategy as publ",
        ),
        (
            {"strategy": {"name": "stateful", "compat": "paper"}},
            {},
            "no retries; strategy as published (unus",
        ),
        (
            {"strategy": {"name": "stateful", "compat": "paper"}, "retries": 1},
            {},
            "1 retry a step; strategy as",
        ),
        ({}, {"name": "database", "compat": "paper"}, "no retries; environment as published"),
        ({"strategy": {"name": "hybrid", "history_steps": 3}}, {}, "2 retries a step, alike"),
    ],
)
def test_the_rules_in_force_are_told(agent: JSON, environment: JSON, told: str) -> None:
    config = load_config({"environment": {"name": "counter", **environment}, "agent": agent})
    strategy = load_plugin("strategy", config.agent.strategy.name).target
    assert rules_of(config, strategy).told.startswith(told)


def test_a_run_says_its_rules_and_an_oracle_has_none(tmp_path: Path) -> None:
    asked = run_facts(run(tmp_path / "run", {"name": "stateful", "compat": "paper"}, ["Action: done"]))
    assert record_notes(asked)[0].startswith("rules: no retries; strategy as published")
    config = {"environment": {"name": "counter", "tasks": 1}, "agent": {"kind": "oracle"}}
    assert not any(
        "rules" in note for note in record_notes(run_facts(perdure.run(config, out=tmp_path / "o")))
    )


@pytest.mark.parametrize("environment", ["none", "paper"])
@pytest.mark.parametrize("strategy", ["none", "paper"])
def test_the_acknowledged_layout_is_that_of_the_world_and_the_strategy_as_published(
    tmp_path: Path, environment: str, strategy: str
) -> None:
    played = perdure.run(
        {
            "environment": {"name": "database", "compat": environment},
            "agent": {"strategy": {"name": "full_history", "compat": strategy}},
            "models": {"default": {"provider": "scripted", "replies": ["hm"], "cycle": True}},
            "execution": {"limit": 1, "fsync": False},
        },
        out=tmp_path,
    )
    messages = next(iter(played.reader.calls(0))).messages
    assert (messages[0].text == "You are a helpful assistant.") is (environment == strategy == "paper")


def test_a_paper_rule_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="compat"):
        run(tmp_path, {"name": "full_history", "compat": "original"}, ["x"])
    with pytest.raises(ConfigError, match="unknown key"):
        run(tmp_path, {"name": "observation_masking", "compat": "paper"}, ["x"])
