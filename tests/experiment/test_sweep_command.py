"""`perdure sweep` through the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perdure.cli.main import app

SWEEP = """
name = "tiny"
[base]
environment = { name = "warehouse", tasks = 1, horizon = 10, profile = "paper" }
models.default = { provider = "perfect_reader" }
[grid]
"agent.strategy" = [{ name = "full_history" }, { name = "structured_state" }, { name = "stateful" }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(SWEEP)
    return tmp_path


def test_one_table_and_the_same_as_json(folder: Path) -> None:
    result = CliRunner().invoke(app, ["sweep", "tiny.toml"])
    assert result.exit_code == 0, result.stderr
    assert "full_history" in result.stdout
    assert "growth exponent" in result.stdout
    assert "3/3 runs · " in result.stderr
    assert (folder / "runs" / "tiny").is_dir()
    again = CliRunner().invoke(app, ["sweep", "tiny.toml", "--json", "--quiet"])
    body = json.loads(again.stdout)
    assert again.stderr == ""
    assert (body["sweep"], body["failed"], len(body["runs"])) == ("tiny", 0, 3)
    assert [run["score"] for run in body["runs"]] == [1.0, 1.0, 1.0]


def test_the_papers_numbers_stand_beside(folder: Path) -> None:
    result = CliRunner().invoke(app, ["sweep", "tiny.toml", "--paper", "-q"])
    assert "Gemini-3-Flash, T=10, ReAct" in result.stdout
    assert "3,249" in result.stdout


def test_failed_runs_are_listed(folder: Path) -> None:
    (folder / "tiny.toml").write_text(SWEEP + '"environment.horizon" = [10, 3]\n')
    result = CliRunner().invoke(app, ["sweep", "tiny.toml", "-q"])
    assert result.exit_code == 1
    assert result.stderr.count("failed: ") == 3
    assert "horizon must be between" in result.stderr


def test_mistakes_are_one_line(folder: Path) -> None:
    missing = CliRunner().invoke(app, ["sweep", "absent.toml"])
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
    backend = CliRunner().invoke(app, ["sweep", "tiny.toml", "--backend", "moon"])
    assert backend.exit_code == 2
    assert "choose one of: local" in backend.stderr


HELD = """
[base]
environment = { name = "counter" }
models.default = { provider = "scripted", replies = "m.py:reply" }
[grid]
seed = [1, 2]
"""

REPLY = """
import time
from pathlib import Path


def reply(request):
    Path("asked").touch()
    time.sleep(300)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_sigterm_ends_a_sweep_and_its_processes_resumably(folder: Path) -> None:
    (folder / "held.toml").write_text(HELD)
    (folder / "m.py").write_text(REPLY)
    running = subprocess.Popen(
        [sys.executable, "-c", "from perdure.cli.main import main; main()", "sweep", "held.toml", "-q"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not (folder / "asked").exists():
        assert running.poll() is None, "the sweep ended before it could be stopped"
        assert time.monotonic() < deadline, "a start takes longer than any machine needs"
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    _, stderr = running.communicate(timeout=100)
    assert running.returncode == 143
    assert stderr == "interrupted; nothing finished is lost: the same command resumes 'runs/sweep'\n"
