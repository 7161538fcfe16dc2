"""Calls a step, malformed replies and fallbacks stand in every table and its JSON, whatever the strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.types import JSON
from perdure.experiment.compare import compare_runs
from perdure.experiment.runs import Run
from perdure.reports.compare_table import comparison_facts
from perdure.reports.compare_table import comparison_table as paired_table
from perdure.reports.facts import run_facts
from perdure.reports.replies import REPLY_COLUMNS
from perdure.reports.run_tables import comparison_table, result_table
from perdure.reports.sweep_table import growth_facts, sweep_table
from perdure.reports.table import Table

RETRIES = 1


def played(folder: Path, replies: list[str], strategy: str = "full_history") -> Run:
    """One task of four steps at most; every reply is asked for again once."""
    model: dict[str, Any] = {"provider": "scripted", "replies": replies, "cycle": True}
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
    return [table.rows[row][table.header.index(name)] for name in REPLY_COLUMNS]


@pytest.mark.parametrize("strategy", ["full_history", "memory", "stateful", "structured_state"])
def test_every_table_shows_what_became_of_replies(tmp_path: Path, strategy: str) -> None:
    run = played(tmp_path / "run", ["Well."], strategy)
    (record,) = run.records()
    calls = sum(len(line["calls"]) for line in run.reader.ledger())
    assert (record.malformed, record.fallbacks, record.interactions) == (8, 4, 4)
    assert calls >= 8, "a strategy's own calls are among them"
    expected = {"calls_per_step": calls / 4, "malformed": 8, "fallbacks": 4}
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
