"""`perdure replay`: exit codes and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

from perdure.core.types import JSON
from perdure.storage.files import seal
from tests.cli.conftest import Perdure
from tests.core.sealed import edit_config


def rewrite(sessions: Path, lines: list[JSON]) -> None:
    """Put other facts on record, each line sealed again."""
    unsealed = [{key: value for key, value in line.items() if key != "crc"} for line in lines]
    sessions.write_text("".join(seal(line) + "\n" for line in unsealed))


def test_a_run_reproduces(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    result = perdure("replay", "out")
    assert result.exit_code == 0
    assert result.stdout.startswith("6/6 sessions reproduce (")
    [body] = json.loads(perdure("replay", "out", "--json").stdout)
    assert body["planned"] == 6
    assert body["reproduces"] is True
    assert body["steps"] > 6


def test_a_changed_record_is_named_with_both_texts(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    sessions = Path("out/sessions.jsonl")
    lines = [json.loads(line) for line in sessions.read_text().splitlines()]
    lines[4]["interactions"][0]["accepted"] = False
    lines[5]["outcome"] = "incorrect"
    rewrite(sessions, lines)
    result = perdure("replay", "out")
    assert result.exit_code == 1
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["4", "0", "1", "accepted", "False", "True"] in rows
    assert ["5", "0", "verdict", "outcome", "incorrect", "correct"] in rows
    assert "4/6 sessions reproduce" in result.stdout
    [body] = json.loads(perdure("replay", "out", "--json").stdout)
    assert [difference["fact"] for difference in body["differences"]] == ["accepted", "outcome"]


def test_another_environment_version_is_refused(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    before, after = (f'environment_version = "{version}+6.0"' for version in (2, 0))
    edit_config(Path("out/config.toml"), before, after)
    result = perdure("replay", "out")
    assert result.exit_code == 1
    assert "version 0+6.0, this is version 2+6.0" in result.stdout


def keep_sessions(folder: str, count: int) -> None:
    sessions = Path(folder) / "sessions.jsonl"
    sessions.write_text("".join(sessions.read_text().splitlines(keepends=True)[:count]))


def test_a_run_without_finished_sessions_does_not_succeed(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    keep_sessions("out", 0)
    result = perdure("replay", "out")
    assert result.exit_code == 1
    assert result.stdout == "nothing to replay: 0 of 6 planned sessions are finished\n"
    [body] = json.loads(perdure("replay", "out", "--json").stdout)
    assert body["reproduces"] is False


def test_an_unfinished_run_says_how_much_there_was(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    keep_sessions("out", 1)
    result = perdure("replay", "out")
    assert result.exit_code == 0
    assert result.stdout.startswith("1/1 sessions reproduce (")
    assert result.stdout.endswith("; 1 of 6 planned sessions are finished\n")


def test_several_runs_are_named_and_one_failure_counts(perdure: Perdure) -> None:
    for folder in ("one", "two"):
        perdure("run", "counter.toml", "-q", "--out", folder)
    result = perdure("replay", "one", "two")
    assert result.exit_code == 0
    assert [line.partition(" sessions")[0] for line in result.stdout.splitlines()] == ["one: 6/6", "two: 6/6"]
    keep_sessions("one", 0)
    result = perdure("replay", "one", "two")
    assert result.exit_code == 1
    assert "two: 6/6 sessions reproduce" in result.stdout
    assert perdure("replay", "two", "absent").exit_code == 2


def test_differences_of_several_runs_stand_under_their_folder(perdure: Perdure) -> None:
    for folder in ("one", "two"):
        perdure("run", "counter.toml", "-q", "--out", folder)
    sessions = Path("two/sessions.jsonl")
    changed = sessions.read_text().replace('"correct"', '"incorrect"')
    rewrite(sessions, [json.loads(line) for line in changed.splitlines()])
    lines = perdure("replay", "one", "two").stdout.splitlines()
    assert lines[0].startswith("one: 6/6")
    assert lines[1].startswith("two: first differences")
    assert lines[-1].startswith("two: 0/6")
