"""Calls a step, malformed replies and fallbacks stand in every table and its JSON, whatever the strategy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.conformance import counter_player
from perdure.core.session import Session, SessionStatus
from perdure.core.types import JSON, Completion, Evaluation, EvaluationOutcome, Request
from perdure.core.usage import Usage
from perdure.experiment.compare import compare_runs
from perdure.experiment.runs import Run
from perdure.metrics.token_kinds import tokens_by_kind
from perdure.reports.compare_table import comparison_facts, warning_lines
from perdure.reports.compare_table import comparison_table as paired_table
from perdure.reports.facts import run_facts
from perdure.reports.record_notes import record_notes
from perdure.reports.replies import REPLY_COLUMNS
from perdure.reports.run_tables import comparison_table, result_table
from perdure.reports.sweep_table import growth_facts, sweep_table
from perdure.reports.table import Table

RETRIES = 1
PLAYER = counter_player.__file__


def played(folder: Path, replies: list[str] | str, strategy: str = "full_history") -> Run:
    """One task of four steps at most; every reply is asked for again once."""
    cycle = {} if isinstance(replies, str) else {"cycle": True}
    model: dict[str, Any] = {"provider": "scripted", "replies": replies, **cycle}
    return perdure.run(
        {
            "environment": {"name": "counter", "tasks": 1},
            "agent": {"strategy": {"name": strategy}, "retries": RETRIES},
            "models": {"default": model},
            "limits": {"max_interactions": 4},
        },
        out=folder,
    )


def cells(table: Table, row: int = 0) -> list[str]:
    return [table.rows[row][table.header.index(name)] for name in list(REPLY_COLUMNS)[:3]]


@pytest.mark.parametrize("strategy", ["full_history", "memory", "stateful", "structured_state"])
def test_every_table_shows_what_became_of_replies(tmp_path: Path, strategy: str) -> None:
    run = played(tmp_path / "run", ["Well."], strategy)
    (record,) = run.records()
    calls = sum(len(line["calls"]) for line in run.reader.ledger())
    assert (record.malformed, record.fallbacks, record.interactions) == (8, 4, 4)
    assert calls >= 8, "a strategy's own calls are among them"
    expected: dict[str, JSON] = {"calls_per_step": calls / 4, "malformed": 8, "fallbacks": 4}
    keeps_a_state = strategy in ("stateful", "structured_state")
    expected |= {"replies": 8, "cut": 0, "tolerated": 0, "state_updates": 0 if keeps_a_state else None}
    shown = [f"{calls / 4:.2f}", "8", "4"]

    facts = run_facts(run)
    assert facts.items() >= expected.items()
    assert cells(result_table(facts, {})) == cells(comparison_table([facts])) == shown

    swept: dict[str, JSON] = {"run": "a", "folder": "", "error": None, **growth_facts(run)}
    assert swept.items() >= expected.items()
    assert cells(sweep_table("s", [swept])) == shown

    compared = compare_runs([run, played(tmp_path / "other", ["Action: add 1"])])
    assert comparison_facts(compared)["baseline"].items() >= expected.items()
    assert cells(paired_table(compared)) == shown
    assert cells(paired_table(compared), 1) == ["1.00", "0", "0"]


def test_a_zero_is_shown_where_a_model_was_asked_and_only_there(tmp_path: Path) -> None:
    good = run_facts(played(tmp_path / "model", ["Action: add 1"]))
    oracle = run_facts(
        perdure.run(
            {"environment": {"name": "counter", "tasks": 1}, "agent": {"kind": "oracle"}},
            out=tmp_path / "oracle",
        )
    )
    table = comparison_table([good, oracle])
    assert (cells(table), cells(table, 1)) == (["1.00", "0", "0"], ["–", "–", "–"])
    assert not set(REPLY_COLUMNS) & set(comparison_table([oracle]).header)


def cut(request: Request) -> Completion:
    """Never comes to its end."""
    return Completion("I go through all that I was shown once", "length", Usage(20, 9))


CUT = f"{Path(__file__)}:cut"
STATE = '{"state_patch": %s, "action": "Action: add 1",}'
STATEFUL = "StateUpdate: %s\nAction: add 1"


def cell(facts: Mapping[str, JSON], name: str) -> str:
    table = comparison_table([facts])
    return table.rows[0][table.header.index(name)]


@pytest.mark.parametrize("strategy", ["full_history", "memory", "stateful", "structured_state"])
def test_replies_that_are_cut_are_counted_and_the_end_of_a_run_warns(tmp_path: Path, strategy: str) -> None:
    run = played(tmp_path / "run", CUT, strategy)
    (record,) = run.records()
    assert (record.cut, record.malformed, record.turns) == (8, 8, 8)
    facts = run_facts(run)
    assert cell(facts, "cut") == "8"
    notes = record_notes(facts)
    assert any("8 of 8 replies were cut" in note and "max_tokens" in note for note in notes)
    assert any("8 of 8 replies held no action" in note for note in notes)
    prompts = [call.messages[-1].text for call in run.reader.calls(0) if call.caller == "agent"]
    assert ["Your reply was cut after 9 tokens" in text for text in prompts] == [False, True] * 4


def test_a_run_that_went_well_warns_of_nothing(tmp_path: Path) -> None:
    notes = record_notes(run_facts(played(tmp_path / "run", ["Action: add 1"])))
    assert [note for note in notes if not note.startswith("rules:")] == []


@pytest.mark.parametrize(
    ("strategy", "reply", "updates"),
    [
        ("stateful", STATEFUL % '{"a": 1}', 4),
        ("stateful", "Action: add 1", 0),
        ("structured_state", STATE % '{"value": 7}', 1),
        ("structured_state", STATE % "{}", 0),
        ("full_history", "Action: add 1", None),
    ],
)
def test_updates_of_the_state_are_counted_and_their_absence_is_told(
    tmp_path: Path, strategy: str, reply: str, updates: int | None
) -> None:
    run = played(tmp_path / "run", [reply], strategy)
    (record,) = run.records()
    assert record.state_updates == updates
    assert record.tolerated == (4 if strategy == "structured_state" else 0), "a comma too many is forgiven"
    facts = run_facts(run)
    told = [note for note in record_notes(facts) if "the state never changed in 4 steps" in note]
    assert bool(told) is (updates == 0)
    if updates is None:
        assert "state updates" not in comparison_table([facts]).header
    else:
        assert cell(facts, "state updates") == str(updates)


def test_what_an_environment_tolerated_counts_too() -> None:
    session = Session("t")
    session.start("g", ())
    session.tolerated = 2
    session.finish(SessionStatus.COMPLETED)
    session.evaluate(Evaluation(EvaluationOutcome.CORRECT, 1.0, {"tolerated": 3}))
    assert session.record().tolerated == 5


def test_tokens_are_told_by_kind_and_votes_are_the_agents(tmp_path: Path) -> None:
    run = perdure.run(
        {
            "environment": {"name": "counter", "tasks": 3},
            "models": {"default": {"provider": "scripted", "replies": f"{PLAYER}:reply"}},
            "callbacks": [{"name": "group_self_consistency", "groups": 1, "group_size": 1}],
        },
        out=tmp_path / "run",
    )
    tokens = run.summary().tokens
    assert set(tokens) == {"agent", "agent:group_self_consistency"}
    assert set(tokens_by_kind(tokens)) == {"agent"}
    mean = (tokens["agent"].prompt + tokens["agent:group_self_consistency"].prompt) / (
        tokens["agent"].calls + tokens["agent:group_self_consistency"].calls
    )
    assert growth_facts(run)["prompt_mean"] == pytest.approx(mean)
    assert mean > tokens["agent"].prompt / tokens["agent"].calls, "voters are shown more"


def test_a_comparison_of_unequal_arms_warns(tmp_path: Path) -> None:
    def arm(name: str, **agent: JSON) -> Run:
        return perdure.run(
            {
                "environment": {"name": "counter", "tasks": 3},
                "agent": agent,
                "models": {"default": {"provider": "scripted", "replies": f"{PLAYER}:reply"}},
            },
            out=tmp_path / name,
        )

    base = arm("base")
    paper = arm("paper", strategy={"name": "full_history", "compat": "paper"})
    equal = arm("equal", strategy={"name": "sliding_window", "turns": 99})
    more = arm("more", strategy={"name": "memory", "window": 0})
    assert warning_lines(compare_runs([base, equal])) == []
    assert comparison_facts(compare_runs([base, equal]))["unequal"] == []
    (rules,) = warning_lines(compare_runs([base, paper]))
    assert "not allowed the same: 2 retries a step, alike for all strategies, against no retries" in rules
    (calls,) = warning_lines(compare_runs([base, more]))
    assert "made 1.00 calls a step" in calls
