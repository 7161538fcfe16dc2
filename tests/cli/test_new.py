"""`perdure new`: every skeleton runs and passes its own tests."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from perdure.cli import new
from perdure.core.installation import add_packages, run_command
from tests.cli.conftest import Perdure

KINDS = ["environment", "callback", "strategy"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_skeleton_works_as_it_is(perdure: Perdure, folder: Path, kind: str) -> None:
    name = f"my_{kind}"
    written = json.loads(perdure("new", kind, name, "--dir", "fresh", "--json").stdout)
    assert written == [f"fresh/{name}.py", f"fresh/test_{name}.py", f"fresh/{name}.toml"]
    result = perdure("run", f"fresh/{name}.toml", "-q", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["finished"] is True
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", f"test_{name}.py"],
        cwd=folder / "fresh",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert tests.returncode == 0, tests.stdout


@pytest.mark.parametrize("kind", ["environment", "strategy"])
def test_a_skeleton_passes_its_conformance_suite(perdure: Perdure, kind: str) -> None:
    perdure("new", kind, "first_try")
    result = perdure("check", kind, "first_try.py:FirstTry")
    assert result.exit_code == 0, result.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_skeletons_keep_the_rules_of_the_house(perdure: Perdure, folder: Path, kind: str) -> None:
    perdure("new", kind, "tidy", "--dir", "fresh")
    for command in (
        ["ruff", "check", "--isolated", "--select", "E,F,B,I,UP", "--line-length", "110", "fresh"],
    ):
        done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_what_is_printed_can_be_used_as_it_stands(perdure: Perdure, folder: Path) -> None:
    lines = perdure("new", "environment", "dice", "--dir", "mine").stdout.splitlines()
    assert lines[-1] == "use it anywhere as mine/dice.py:Dice"
    assert lines[-2] == (
        f"next: {sys.executable} -m pytest mine/test_dice.py | {run_command()} run mine/dice.toml"
    )
    assert (
        perdure("run", "counter.toml", "-q", "--set", "environment={name='mine/dice.py:Dice'}").exit_code == 0
    )


def test_a_missing_pytest_is_mentioned(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "install pytest" not in perdure("new", "callback", "one").stdout
    monkeypatch.setattr(new, "find_spec", lambda name: None if name == "pytest" else find_spec(name))
    assert add_packages("pytest") in perdure("new", "callback", "two").stdout


def test_nothing_is_overwritten(perdure: Perdure, folder: Path) -> None:
    (folder / "test_dice.py").write_text("mine")
    result = perdure("new", "environment", "dice")
    assert result.exit_code == 2
    assert "'test_dice.py' exists already; nothing was written" in result.stderr
    assert (folder / "test_dice.py").read_text() == "mine"
    assert not (folder / "dice.py").exists()


def test_a_folder_that_cannot_be_written(perdure: Perdure, folder: Path) -> None:
    (folder / "file").touch()
    result = perdure("new", "callback", "mine", "--dir", "file/below")
    assert result.exit_code == 2
    assert "cannot write to 'file/below'" in result.stderr
