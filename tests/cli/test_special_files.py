"""Devices and pipes in place of files: one line, no endless reading; a configuration may come by a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import COUNTER, Perdure

SWEEP = 'base = "{base}"\n[[cases]]\nname = "one"\n'
NEITHER = "it is neither a file nor a folder"


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_device_is_no_configuration(perdure: Perdure, command: str) -> None:
    outcome = perdure(command, "/dev/zero")
    assert outcome.exit_code == 2
    assert outcome.stderr == "error: cannot read '/dev/zero': it has more than 16 MiB\n"


def test_a_device_is_no_base_of_a_sweep(perdure: Perdure, folder: Path) -> None:
    (folder / "sweep.toml").write_text('name = "s"\n' + SWEEP.format(base="/dev/zero"))
    outcome = perdure("sweep", "sweep.toml")
    assert outcome.exit_code == 2
    assert "base: cannot read '/dev/zero': it has more than 16 MiB" in outcome.stderr


@pytest.mark.parametrize(
    ("key", "special"),
    [
        *product(("environment.tasks", "agent.run"), ("/dev/zero", "pipe")),
        *product(("environment.name", "models.default.replies"), ("zero.py:World", "pipe.py:World")),
    ],
)
def test_devices_and_pipes_are_no_files_of_a_run(
    perdure: Perdure, folder: Path, key: str, special: str
) -> None:
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    sets = ["--set", f"{key}={special}"]
    if key == "environment.tasks":
        sets += ["--set", "environment.name=database"]
    if key == "models.default.replies":
        sets += ["--set", "agent.kind=model"]
    if key == "agent.run":
        sets += ["--set", "agent.kind=fixed_response"]
    outcome = perdure("run", "counter.toml", *sets, "--out", "run")
    assert outcome.exit_code == 2
    assert NEITHER in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert not (folder / "run").exists()


def test_a_configuration_may_come_by_a_pipe(folder: Path) -> None:
    """As the shell's `perdure run <(make_config)` gives it."""
    os.mkfifo(folder / "pipe.toml")
    writer = Thread(target=(folder / "pipe.toml").write_text, args=(COUNTER,))
    writer.start()
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "run", "pipe.toml", "--out", "run"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=50,
    )
    writer.join()
    assert done.returncode == 0, done.stderr
    assert len((folder / "run" / "sessions.jsonl").read_bytes().splitlines()) == 6
