"""Wrong input: exit 2, one line, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Perdure

CASES = {
    "no file": (["run", "absent.toml"], "there is no configuration file 'absent.toml'"),
    "unknown key": (
        ["run", "counter.toml", "--set", "agent.knd=oracle"],
        "agent.knd: unknown key; choose one of:",
    ),
    "unknown section": (["run", "counter.toml", "--set", "limit.x=1"], "limit: unknown key; choose one of:"),
    "wrong type": (
        ["run", "counter.toml", "--set", 'seed="x"'],
        "seed: Input should be a valid integer, got 'x'",
    ),
    "wrong choice": (["run", "counter.toml", "--set", "agent.kind=human"], "got 'human'"),
    "unknown plugin": (
        ["run", "counter.toml", "--set", "environment.name=nowhere"],
        "unknown environment 'nowhere'; choose one of: counter",
    ),
    "unknown parameter": (
        ["run", "counter.toml", "--set", "environment.size=3"],
        "environment.size: unknown key; choose one of: tasks, seed",
    ),
    "wrong parameter": (
        ["run", "counter.toml", "--set", "environment.tasks=0"],
        "tasks must be at least 1, not 0",
    ),
    "more tasks than anybody has": (
        ["run", "counter.toml", "--set", "environment.tasks=2000000"],
        "tasks must be at most 1,000,000, not 2000000",
    ),
    "more repeats than anybody has": (
        ["run", "counter.toml", "--repeat", "1000000000000"],
        "execution.repeat: 1000000000000 times 6 tasks; a run has at most 10,000,000 sessions",
    ),
    "unknown model": (
        ["run", "counter.toml", "--set", "agent.kind=model", "--set", "agent.model=gpt"],
        "no model is named 'gpt'; choose one of: default",
    ),
    "no model at all": (
        ["run", "counter.toml", "--set", "models={}", "--set", "agent.kind=model"],
        "no model is named 'default'; add a [models.default] section",
    ),
    "task given twice": (["run", "counter.toml", "--tasks", "3,1,3"], "tasks: '3' is there twice"),
    "unknown task": (["run", "counter.toml", "--tasks", "99"], "has no task '99'; it has: 0, 1, 2, 3, 4, 5"),
    "broken set": (["run", "counter.toml", "--set", "seed"], "--set 'seed': expected key.path=value"),
    "out is a file": (
        ["run", "counter.toml", "--out", "counter.toml"],
        "--out 'counter.toml': 'counter.toml' is a file, not a folder",
    ),
    "out is below a file": (
        ["run", "counter.toml", "--out", "counter.toml/x/y"],
        "--out 'counter.toml/x/y': 'counter.toml' is a file, not a folder",
    ),
    "quickstart in a file": (
        ["quickstart", "--out", "counter.toml"],
        "'counter.toml' is a file, not a folder",
    ),
    "no run folder": (["report", "."], "'.' is not a run folder: it has no config.toml"),
    "no run to replay": (["replay", "nowhere"], "'nowhere' is not a run folder"),
    "nothing to check": (
        ["check", "strategy", "nothing"],
        "unknown strategy 'nothing'; choose one of: capped_summary, full_history",
    ),
    "bad parameter to check": (
        ["check", "environment", "counter", "--set", "size=1"],
        "environment.size: unknown key; choose one of: tasks, seed",
    ),
    "no file to check": (["check", "environment", "absent.py:World"], "there is no file"),
    "bad new name": (["new", "strategy", "My-Strategy"], "'My-Strategy' is no name for a module"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_that_names_the_problem(perdure: Perdure, folder: Path, case: str) -> None:
    arguments, message = CASES[case]
    result = perdure(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(path.name for path in folder.iterdir()) == ["counter.toml"]


def test_broken_toml(perdure: Perdure, folder: Path) -> None:
    (folder / "broken.toml").write_text("name = \n")
    result = perdure("run", "broken.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: 'broken.toml' is not valid TOML")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "counter.toml", "--limit", "0"], ["fly"], ["list", "planets"], ["--fast"]]
)
def test_usage_errors_of_the_command_line_itself(perdure: Perdure, arguments: list[str]) -> None:
    result = perdure(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_another_configuration_is_refused_with_what_changed(perdure: Perdure) -> None:
    assert perdure("run", "counter.toml", "--out", "out", "-q").exit_code == 0
    result = perdure("run", "counter.toml", "--out", "out", "-q", "--set", "seed=7")
    assert result.exit_code == 2
    assert "seed: 0 → 7" in result.stderr
