"""Runs the real command in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from typer.testing import CliRunner

from perdure.cli.main import app

COUNTER = """\
name = "small"

[environment]
name = "counter"
tasks = 6

[agent]
kind = "oracle"

[models.default]
provider = "scripted"
replies = ["Action: done"]
cycle = true

[models.default.price]
prompt = 2.0
completion = 8.0
"""


class Outcome:
    """What a command did."""

    def __init__(self, exit_code: int, stdout: str, stderr: str) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


Perdure: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with `counter.toml` in it, and no width of a terminal in the environment."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.toml").write_text(COUNTER)
    return tmp_path


@pytest.fixture
def perdure(folder: Path) -> Perdure:
    """The command, in this process; anything but an exit code is raised."""

    def call(*arguments: str | Path) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return call
