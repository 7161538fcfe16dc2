"""The examples of every `--help` run as they stand, in a folder in which `perdure quickstart` has run."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from perdure.cli import quickstart
from perdure.cli.main import app
from tests.pipelines.importers.test_lifelongagentbench import DATABASE

EXAMPLE = re.compile(r"`perdure ([^`]+)`")
NOT_HERE = {"quickstart": "it has run", "sandbox build": "it downloads a Debian"}


def examples() -> dict[str, list[str]]:
    """Command → its examples."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    texts = {}
    for name, command in group.commands.items():
        inner = [each.help or "" for each in getattr(command, "commands", {}).values()]
        texts[name] = "\n".join([command.help or "", *inner])
    return {
        name: [example for example in EXAMPLE.findall(text) if not example.startswith(tuple(NOT_HERE))]
        for name, text in texts.items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders and files as the quickstart leaves them, with shorter tasks and no language model."""
    place = tmp_path_factory.mktemp("quickstarted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setitem(sys.modules, "xllamacpp", None)
        patch.setattr(quickstart, "HORIZON", 20)
        assert CliRunner().invoke(app, ["quickstart", "--quiet"]).exit_code == 0
        Path("LifelongAgentBench").mkdir()
        Path("LifelongAgentBench/entry_dict.json").write_text(json.dumps({"0": DATABASE}))
    return place


@pytest.mark.parametrize("command", [name for name, found in examples().items() if found])
def test_examples_run(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for example in examples()[command]:
        words = shlex.split(example.partition(" > ")[0])
        if words[0] == "new" and Path(f"{words[2]}.py").exists():
            continue  # made by the example of another command
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, f"perdure {example}: {outcome.output}"


def test_every_command_that_takes_a_file_has_an_example() -> None:
    found = examples()
    assert all(
        found[name] for name in ("run", "sweep", "report", "compare", "replay", "blame", "check", "new")
    )
