"""Budgets that another arm's prompts give: measured, rounded up, part of the identity."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError
from perdure.experiment.sweep import RunOutcome, load_sweep, run_sweep
from perdure.reports.sweep_table import sweep_facts

FILE = """
name = "matched"
{match}
[base]
environment = {{ name = "warehouse", tasks = 1 }}
models.default = {{ provider = "perfect_reader" }}
[grid]
"environment.horizon" = [10, 30]
"agent.strategy" = [
  {{ name = "sliding_window", budget_tokens = "match" }},
  {{ name = "structured_state" }},
  {{ name = "sliding_window", turns = 1 }},
  {more}
]
"""


def swept(folder: Path, match: str = "", more: str = "", **options: Any) -> list[RunOutcome]:
    path = folder / "sweep.toml"
    path.write_text(FILE.format(match=match, more=more))
    return run_sweep(load_sweep(path, out=folder / "out"), **options)


def mean_prompt(outcome: RunOutcome) -> float:
    lines = perdure.load(outcome.run.folder).reader.ledger()
    return fmean(call[5] for line in lines for call in line["calls"] if call[1] == "agent")


def budget_of(outcome: RunOutcome) -> int:
    identity = perdure.load(outcome.run.folder).identity
    budget: int = identity["agent"]["strategy"]["budget_tokens"]
    return budget


def test_the_budget_is_the_mean_of_the_arm_beside_it_rounded_up_to_50(tmp_path: Path) -> None:
    outcomes = swept(tmp_path)
    assert [outcome.error for outcome in outcomes] == [""] * 6
    for matched, reference in ((outcomes[0], outcomes[1]), (outcomes[3], outcomes[4])):
        budget = budget_of(matched)
        assert budget == 50 * ceil(mean_prompt(reference) / 50)
        assert perdure.load(matched.run.folder).sessions[0].trace["largest_prompt"] <= budget
    facts = sweep_facts(outcomes)
    assert facts[0]["strategy_parameters"] == {"budget_tokens": budget_of(outcomes[0])}
    again = swept(tmp_path)
    assert all(outcome.skipped for outcome in again), "the same budget comes out again"


def test_another_arm_is_named_by_strategy_and_parameters(tmp_path: Path) -> None:
    by_label = swept(tmp_path, 'match = "sliding_window turns=1"')
    assert budget_of(by_label[0]) == 50 * ceil(mean_prompt(by_label[2]) / 50)


@pytest.mark.parametrize("match", ['match = "nobody"', 'match = "sliding_window"'])
def test_an_arm_that_is_not_one_is_told_before_anything_is_played(tmp_path: Path, match: str) -> None:
    with pytest.raises(ConfigError, match=r"budget_tokens = 'match'.*name one.*turns=1") as caught:
        swept(tmp_path, match, '{ name = "sliding_window", turns = 2 },')
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "out").glob("*/sessions.jsonl"))


def test_an_arm_that_failed_gives_no_budget(tmp_path: Path) -> None:
    outcomes = swept(tmp_path, 'match = "memory"', '{ name = "memory", window = -1 },')
    assert "window" in outcomes[3].error
    assert outcomes[0].error == f"its budget is that of {outcomes[3].run.label!r}, which failed"
    assert outcomes[1].error == ""
