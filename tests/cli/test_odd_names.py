"""Task ids and folders of any name, as they are written: no parser of TOML or JSON ever sees them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Perdure

ODD = [
    *("007", "1e3", "0x10", "1_000", "-1", "true", "null", "nan", "1979-05-27", "3.0"),
    *('"quoted"', "'single'", "it's", "[1]", "{}", "a=b", "a.b", "#x", "🦊", "ü ö", "back\\slash", "$HOME"),
    *("--out", "~", "a,b", ",", "comma, space", "a\\b,c"),
]
ENVIRONMENT = f"""
from perdure.environments.counter import CounterEnvironment


class Odd(CounterEnvironment):
    def __init__(self, *, max_interactions: int = 10) -> None:
        super().__init__(tasks={len(ODD)}, max_interactions=max_interactions)
        self._tasks = dict(zip({ODD!r}, self._tasks.values()))
"""


@pytest.fixture
def odd(folder: Path) -> Path:
    (folder / "odd.py").write_text(ENVIRONMENT)
    (folder / "odd.toml").write_text('agent = { kind = "oracle" }\nenvironment = { name = "odd.py:Odd" }\n')
    return folder


def written(task: str) -> str:
    return task.replace(",", "\\,")


def played(perdure: Perdure, given: str) -> list[str]:
    outcome = perdure("run", "odd.toml", "--quiet", "--no-floors", "--json", f"--tasks={given}")
    assert outcome.exit_code == 0, outcome.stderr
    folder = json.loads(outcome.stdout)["folder"]
    return [json.loads(line)["task"] for line in Path(folder, "sessions.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("task", ODD)
def test_a_task_of_any_name_is_played(perdure: Perdure, odd: Path, task: str) -> None:
    assert played(perdure, written(task)) == [task]


def test_all_of_them_at_once_in_the_order_of_the_command(perdure: Perdure, odd: Path) -> None:
    wanted = ODD[::-1]
    assert played(perdure, ", ".join(map(written, wanted))) == wanted


@pytest.mark.parametrize("name", [name for name in ODD if name not in ("--out", ",")])
def test_a_folder_of_any_name_holds_the_run(perdure: Perdure, odd: Path, name: str) -> None:
    outcome = perdure("run", "odd.toml", "--quiet", "--no-floors", "--json", "--limit", "1", "--out", name)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["folder"] == name, shlex.quote(name)
    assert (odd / name / "sessions.jsonl").is_file()
    again = perdure("run", "odd.toml", "--quiet", "--no-floors", "--limit", "1", "--out", name)
    assert "already finished" in again.stdout
    assert perdure("report", f"./{name}").exit_code == 0
    assert perdure("replay", f"./{name}").exit_code == 0
