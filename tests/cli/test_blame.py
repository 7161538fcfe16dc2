from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import perdure
from perdure.cli.main import app

PLAYER = Path(__file__).parents[1] / "strategies" / "counter_player.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("blame") / "run"
    perdure.run(
        {
            "environment": {"name": "counter", "tasks": 3},
            "agent": {"strategy": {"name": "structured_state"}},
            "models": {"default": {"provider": "scripted", "replies": f"{PLAYER}:play"}},
        },
        out=out,
    )
    return out


def blame(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["blame", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_every_step_that_set_a_field_newest_first(folder: Path) -> None:
    sessions = perdure.load(folder).sessions
    longest = max(range(len(sessions)), key=lambda index: len(sessions[index].interactions))
    code, out, _ = blame(str(folder), "--session", str(longest), "/value", "--json")
    assert code == 0
    facts = json.loads(out)
    past = sessions[longest]
    steps = [step["step"] for step in facts["set_by"]]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] == 1
    assert len(steps) > 1
    for step in facts["set_by"]:
        assert step["value"] == step["patch"]["value"]
        assert step["action"] == past.interactions[step["step"] - 1].action
    assert facts["set_by"][-1]["observation"].startswith("The counter is at ")
    assert facts["set_by"][0]["observation"] == past.interactions[steps[0] - 2].observation.text


def test_a_field_that_was_set_once(folder: Path) -> None:
    code, out, _ = blame(str(folder), "--session", "0", "target")
    assert code == 0
    assert "/target in task 0" in out
    assert "The counter is at" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--session", "9", "/value"], "sessions 0 to 2"),
        (["--session", "0", "/nowhere"], "choose one of"),
        (["--session", "x", "/value"], "'x'"),
    ],
)
def test_what_is_not_there_is_a_usage_error(folder: Path, arguments: list[str], words: str) -> None:
    code, out, error = blame(str(folder), *arguments)
    assert (code, out) == (2, "")
    assert words in error


def test_a_run_without_a_structured_state_has_nothing_to_blame(tmp_path: Path) -> None:
    perdure.run({"environment": {"name": "counter", "tasks": 1}, "agent": {"kind": "oracle"}}, out=tmp_path)
    code, _, error = blame(str(tmp_path), "/value")
    assert code == 2
    assert "kept no structured state" in error
