"""The examples of every `--help` run as they stand, in an empty folder."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import typer

from perdure.cli import quickstart
from perdure.cli.main import app
from tests.cli.conftest import Perdure

EXAMPLE = re.compile(r"`(perdure [^`]+)`")
NOT_HERE = ("perdure sandbox build",)
"""Downloads a Debian."""


def examples() -> list[str]:
    """In the order of the commands, each once."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    texts = []
    for command in group.commands.values():
        texts.append(command.help or "")
        texts += [inner.help or "" for inner in getattr(command, "commands", {}).values()]
    found = [example for text in texts for example in EXAMPLE.findall(text)]
    return [example for example in dict.fromkeys(found) if not example.startswith(NOT_HERE)]


def test_examples_are_found() -> None:
    assert len(examples()) > 15


def test_every_example_runs(
    perdure: Perdure, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # its part of the quickstart takes half a minute
    monkeypatch.setattr(quickstart, "HORIZON", 20)
    assert perdure("quickstart", "--quiet").exit_code == 0
    for example in examples():
        words = shlex.split(example.partition(" > ")[0])
        if words[1] == "quickstart":
            continue
        if words[1] == "new" and Path(f"{words[3]}.py").exists():
            continue
        outcome = perdure(*words[1:])
        assert outcome.exit_code == 0, f"{example}: {outcome.stdout}{outcome.stderr}"
