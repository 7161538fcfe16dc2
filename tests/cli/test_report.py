"""`perdure report`: tables, Markdown and JSON of finished and unfinished runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Perdure


@pytest.fixture
def runs(perdure: Perdure) -> list[str]:
    """An oracle's run and an unfinished one of a model."""
    assert perdure("run", "counter.toml", "-q", "--out", "oracle").exit_code == 0
    arguments = ["--set", "agent.kind=model", "--set", "name=model", "--out", "model"]
    assert perdure("run", "counter.toml", "-q", *arguments).exit_code == 0
    sessions = Path("model/sessions.jsonl")
    sessions.write_text("".join(sessions.read_text().splitlines(keepends=True)[:4]))
    return ["oracle", "model"]


def test_one_row_a_run(perdure: Perdure, runs: list[str]) -> None:
    result = perdure("report", *runs)
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if " counter " in line]
    assert len(rows) == 2
    assert "6/6 1.00 [0.61–1.00]" in rows[0]
    assert "4/6 unfinished" in rows[1]
    assert "scripted / full_history" in rows[1]
    assert all("0.00–1.00" in row for row in rows)


def test_an_unfinished_run_shows_no_metrics_of_other_sessions(perdure: Perdure, runs: list[str]) -> None:
    body = json.loads(perdure("report", "--json", *runs).stdout)
    assert [run["finished"] for run in body] == [True, False]
    assert body[0]["metrics"]["overall.success_rate"] == 1.0
    assert body[1]["metrics"] == {}


def test_markdown_tables_are_valid(perdure: Perdure, runs: list[str]) -> None:
    lines = perdure("report", "--markdown", *runs).stdout.splitlines()
    assert lines[0] == "### Runs"
    tables: list[list[str]] = []
    current: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            current.append(line)
        elif current:
            tables.append(current)
            current = []
    assert len(tables) == 2
    for table in tables:
        widths = {line.replace("\\|", "").count("|") for line in table}
        assert len(widths) == 1
        assert set(table[1]) <= set("| -:")


def test_runs_of_the_same_name_are_told_apart_by_their_folder(perdure: Perdure) -> None:
    for folder in ("one", "two"):
        perdure("run", "counter.toml", "-q", "--out", folder)
    header = next(
        line for line in perdure("report", "one", "two").stdout.splitlines() if line.startswith("skill")
    )
    assert header.split() == ["skill", "one", "two"]


def test_narrow_terminals_get_facts_below_each_other(
    perdure: Perdure, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    lines = perdure("report", *runs).stdout.splitlines()
    assert max(len(line) for line in lines) <= 70
    success = next(line.split() for line in lines if line.strip().startswith("success"))
    assert "6/6" in success


def test_a_damaged_line_is_one_clear_error(perdure: Perdure, runs: list[str]) -> None:
    sessions = Path("oracle/sessions.jsonl")
    lines = sessions.read_text().splitlines(keepends=True)
    sessions.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    result = perdure("report", "oracle")
    assert result.exit_code == 2
    assert "line 2 of 'oracle/sessions.jsonl' is damaged" in result.stderr
