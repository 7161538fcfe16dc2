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
    assert [row.split()[0] for row in rows] == ["A", "B"]
    assert all("0.00–1.00" in row for row in rows)


def test_an_unfinished_run_shows_no_metrics_of_other_sessions(perdure: Perdure, runs: list[str]) -> None:
    body = json.loads(perdure("report", "--json", *runs).stdout)
    assert [run["finished"] for run in body] == [True, False]
    assert body[0]["metrics"]["overall.success_rate"] == 1.0
    assert body[1]["metrics"] == {}


def test_markdown_tables_are_valid(perdure: Perdure, runs: list[str]) -> None:
    lines = perdure("report", "--markdown", *runs).stdout.splitlines()
    assert lines[0] == "### Legend"
    tables: list[list[str]] = []
    current: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            current.append(line)
        elif current:
            tables.append(current)
            current = []
    assert len(tables) == 4
    for table in tables:
        widths = {line.replace("\\|", "").count("|") for line in table}
        assert len(widths) == 1
        assert set(table[1]) <= set("| -:")


def test_a_legend_tells_runs_apart_by_folder_and_configuration(perdure: Perdure) -> None:
    for folder, kind in (("one", "oracle"), ("two", "do_nothing")):
        perdure("run", "counter.toml", "-q", "--out", folder, "--set", f"agent.kind={kind}")
    lines = perdure("report", "one", "two").stdout.splitlines()
    assert lines[:2] == ["A  one  agent.kind=oracle", "B  two  agent.kind=do_nothing"]
    header = next(line for line in lines if line.startswith("skill"))
    assert header.split() == ["skill", "A", "B"]
    assert not any("not the same tasks" in line for line in lines)


def test_different_tasks_are_pointed_out(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "one")
    perdure("run", "counter.toml", "-q", "--out", "two", "--limit", "2")
    lines = perdure("report", "one", "two").stdout.splitlines()
    assert lines[:3] == ["A  one", "B  two  execution.limit=2", "not the same tasks: A 6, B 2; in common 2"]
    assert "not the same tasks" in perdure("report", "one", "two", "--markdown").stdout
    body = json.loads(perdure("report", "one", "two", "--json").stdout)
    assert [(run["run"], run["tasks"], run["tasks_in_common"]) for run in body] == [("A", 6, 2), ("B", 2, 2)]


def test_one_run_keeps_its_name(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "one")
    lines = perdure("report", "one").stdout.splitlines()
    assert lines[0] == "folder: one"
    assert any(line.split()[:1] == ["small"] for line in lines)


def test_many_runs_on_a_narrow_terminal_keep_skills_as_rows(
    perdure: Perdure, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "a-folder-with-a-name-that-is-rather-long/and-one-more-below-it/" + "x" * 20
    folders = [f"{place}-{i}" for i in range(3)]
    for i, folder in enumerate(folders):
        perdure("run", "counter.toml", "-q", "--no-floors", "--out", folder, "--set", f"seed={i}")
    monkeypatch.setenv("COLUMNS", "80")
    lines = perdure("report", *folders).stdout.splitlines()
    assert [line for line in lines if place in line] == [
        f"{letter}  {folder}" for letter, folder in zip("ABC", folders, strict=True)
    ]
    assert [line.strip() for line in lines if "seed" in line] == ["seed=0", "seed=1", "seed=2"]
    assert sum(line == "Success by skill" for line in lines) == 1
    assert next(line for line in lines if line.startswith("skill")).split() == ["skill", "A", "B", "C"]
    assert all(line == line.rstrip() for line in lines)


def test_narrow_terminals_get_facts_below_each_other(
    perdure: Perdure, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    lines = perdure("report", *runs).stdout.splitlines()
    assert max(len(line) for line in lines) <= 70
    success = next(line.split() for line in lines if line.strip().startswith("success"))
    assert "6/6" in success


def test_an_empty_width_is_none(perdure: Perdure, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = perdure("report", *runs).stdout
    monkeypatch.setenv("COLUMNS", "")
    assert perdure("report", *runs).stdout == plain


def test_a_damaged_line_is_one_clear_error(perdure: Perdure, runs: list[str]) -> None:
    sessions = Path("oracle/sessions.jsonl")
    lines = sessions.read_text().splitlines(keepends=True)
    sessions.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    result = perdure("report", "oracle")
    assert result.exit_code == 2
    assert "line 2 of 'oracle/sessions.jsonl' is damaged" in result.stderr
