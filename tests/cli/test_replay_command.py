"""`perdure replay`: exit codes and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Perdure


def test_a_run_reproduces(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    result = perdure("replay", "out")
    assert result.exit_code == 0
    assert result.stdout.startswith("6/6 sessions reproduce (")
    body = json.loads(perdure("replay", "out", "--json").stdout)
    assert body["reproduces"] is True
    assert body["steps"] > 6


def test_a_changed_record_is_named_with_both_texts(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    sessions = Path("out/sessions.jsonl")
    lines = [json.loads(line) for line in sessions.read_text().splitlines()]
    lines[4]["interactions"][0]["accepted"] = False
    lines[5]["outcome"] = "incorrect"
    sessions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = perdure("replay", "out")
    assert result.exit_code == 1
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["4", "0", "1", "accepted", "False", "True"] in rows
    assert ["5", "0", "verdict", "outcome", "incorrect", "correct"] in rows
    assert "4/6 sessions reproduce" in result.stdout
    body = json.loads(perdure("replay", "out", "--json").stdout)
    assert [difference["fact"] for difference in body["differences"]] == ["accepted", "outcome"]


def test_another_environment_version_is_refused(perdure: Perdure) -> None:
    perdure("run", "counter.toml", "-q", "--out", "out")
    config = Path("out/config.toml")
    config.write_text(
        config.read_text().replace('environment_version = "1+6.0"', 'environment_version = "0+6.0"')
    )
    result = perdure("replay", "out")
    assert result.exit_code == 1
    assert "version 0+6.0, this is version 1+6.0" in result.stdout
