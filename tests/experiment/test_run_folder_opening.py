"""`RunFolder.open` is the only way in: lock, check, write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import RunFolderError
from perdure.experiment import run_folder
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.run_folder import Description, RunFolder
from perdure.reports.floors import floors_of, read_floors
from perdure.storage.files import FolderLock
from tests.core.sealed import edit_config

ORACLE: dict[str, Any] = {"environment": {"name": "counter", "tasks": 3}, "agent": {"kind": "oracle"}}

SLOW_WORLD = """
import time
from dataclasses import replace
from pathlib import Path
from perdure.environments.counter import WORLD as COUNTER, CounterEnvironment

HERE = Path(__file__).parent


def slow_oracle(environment):
    (HERE / "building").touch()
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return COUNTER.oracle(environment)


class World(CounterEnvironment):
    def __init__(self):
        super().__init__(tasks=3)


WORLD = replace(COUNTER, environment=World, oracle=slow_oracle)
"""

PROGRAM = """
import sys, perdure
world, kind, out = sys.argv[1:]
run = perdure.run({"environment": {"name": f"{world}:World"}, "agent": {"kind": kind}}, out=out)
print(run.metrics["overall.success_rate"])
"""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_of_two_processes_on_one_folder_one_is_refused(tmp_path: Path) -> None:
    """The first is past its early look at the folder, and slow; the second takes the folder meanwhile."""
    world = tmp_path / "world.py"
    world.write_text(SLOW_WORLD)

    def start(kind: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PROGRAM, str(world), kind, str(tmp_path / "run")]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    oracle = start("oracle")
    wait_for(tmp_path / "building")
    nobody = start("do_nothing")
    out, _ = nobody.communicate(timeout=60)
    assert (nobody.returncode, out) == (0, "0.0\n")
    before = (tmp_path / "run" / "sessions.jsonl").read_bytes()
    (tmp_path / "go").touch()
    out, told = oracle.communicate(timeout=60)
    assert (oracle.returncode, out) == (1, "")
    assert "agent.kind: 'do_nothing' → 'oracle'" in told
    assert (tmp_path / "run" / "sessions.jsonl").read_bytes() == before


def test_a_held_folder_is_in_use_and_nothing_in_it_changes(tmp_path: Path) -> None:
    perdure.run(ORACLE, out=tmp_path / "run")
    with Experiment(load_config(ORACLE, values={"execution.out": str(tmp_path / "run")})) as experiment:
        run = Description(experiment.config, experiment.identity, experiment.base, 3)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with RunFolder.open(tmp_path / "run", run) as folder:
        assert folder.pending == 0
        assert folder.metrics is not None
        with pytest.raises(RunFolderError, match="is in use by another process"):
            perdure.run(ORACLE, sets=["execution.limit=1"], out=tmp_path / "run")
    assert {path: path.read_bytes() for path in before} == before
    perdure.run(ORACLE, out=tmp_path / "run")


def test_a_refused_folder_stays_free(tmp_path: Path) -> None:
    perdure.run(ORACLE, out=tmp_path / "run")
    for _ in range(2):
        with pytest.raises(RunFolderError, match="another configuration"):
            perdure.run(ORACLE, sets=["seed=1"], out=tmp_path / "run")
    perdure.run(ORACLE, out=tmp_path / "run")


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "folder/deep.txt", "journal.jsonl"])
def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine" / name).parent.mkdir(parents=True)
    (tmp_path / "mine" / name).write_text("mine")
    first = name.partition("/")[0]
    with pytest.raises(RunFolderError, match=f"holds '{first}' and no config.toml; give another --out"):
        perdure.run(ORACLE, out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == [first]


def test_an_empty_folder_and_one_that_was_given_up_early_are_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    perdure.run(ORACLE, out=tmp_path / "empty")
    (tmp_path / "early" / "plugins").mkdir(parents=True)
    (tmp_path / "early" / ".lock").touch()
    (tmp_path / "early" / ".config.toml.123.tmp").touch()
    perdure.run(ORACLE, out=tmp_path / "early")


def test_metrics_of_a_shorter_schedule_are_not_those_of_a_longer_one(tmp_path: Path) -> None:
    perdure.run(ORACLE, sets=["execution.limit=1"], out=tmp_path / "run")
    with Experiment(load_config(ORACLE, values={"execution.out": str(tmp_path / "run")})) as experiment:
        run = Description(experiment.config, experiment.identity, experiment.base, 3)
        with RunFolder.open(tmp_path / "run", run) as folder:
            assert folder.pending == 2
            assert folder.metrics is None
    assert perdure.load(tmp_path / "run").metrics == {}
    assert perdure.run(ORACLE, out=tmp_path / "run").metrics


@pytest.mark.parametrize("damage", [None, "", "{", "[]"])
def test_a_run_whose_metrics_are_lost_is_not_finished(tmp_path: Path, damage: str | None) -> None:
    whole = perdure.run(ORACLE, out=tmp_path / "run").metrics
    path = tmp_path / "run" / "metrics.json"
    path.unlink() if damage is None else path.write_text(damage)
    assert perdure.run(ORACLE, out=tmp_path / "run").metrics == whole


def test_a_probe_is_a_run_folder_of_its_own(tmp_path: Path) -> None:
    config = {**ORACLE, "probes": {"checkpoints": 1, "tasks": ["0"]}}
    perdure.run(config, out=tmp_path / "run")
    for position in (0, 3):
        probe = perdure.load(tmp_path / "run" / "probes" / f"{position:08d}")
        assert probe.identity["probe"] == position
        assert (probe.planned, len(probe.sessions)) == (1, 1)
    file = probe.folder / "config.toml"
    edit_config(file, probe.hash, "0" * 64)
    (probe.folder / "sessions.jsonl").unlink()
    with pytest.raises(RunFolderError, match="00000003' holds a run of another configuration"):
        perdure.run(config, out=tmp_path / "run")


def test_floors_are_run_folders_that_grow_with_the_schedule(tmp_path: Path) -> None:
    for limit in (1, 3):
        values = {"execution.out": str(tmp_path / "run"), "execution.limit": limit}
        with Experiment(
            load_config({**ORACLE, "agent": {"kind": "do_nothing"}}, values=values)
        ) as experiment:
            experiment.run()
            floors = floors_of(experiment)
        assert floors == read_floors(tmp_path / "run")
        assert floors["oracle"]["sessions"] == limit
        floor = perdure.load(tmp_path / "run" / "floors" / "oracle")
        assert (floor.config.agent.kind, len(floor.sessions)) == ("oracle", limit)
        if limit == 1:
            first = (floor.folder / "sessions.jsonl").read_bytes()
    assert (floor.folder / "sessions.jsonl").read_bytes().startswith(first)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(perdure.PerdureError, match="cannot write"):
        perdure.run(ORACLE, out=tmp_path / "run")


def test_paths_are_no_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("fox 🦊", 'with "quotes"', "back\\slash", "[table]", "3"):
        perdure.run(ORACLE, sets=["execution.limit=1"], out=name)
        assert len(perdure.load(name).sessions) == 1
    assert len(list(tmp_path.iterdir())) == 5


def test_what_another_process_did_between_the_check_and_the_lock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lock, check, write: whoever checks first and locks then takes the other's folder for its own."""
    out = tmp_path / "run"

    class Late(FolderLock):
        def __init__(self, folder: Path) -> None:
            monkeypatch.undo()
            perdure.run(ORACLE, out=out)  # somebody is quicker
            super().__init__(folder)

    config = load_config(ORACLE, ["seed=1"], values={"execution.out": str(out)})
    with Experiment(config) as experiment:
        run = Description(experiment.config, experiment.identity, experiment.base, 3)
        monkeypatch.setattr(run_folder, "FolderLock", Late)
        with pytest.raises(RunFolderError, match="another configuration"):
            RunFolder.open(out, run)
    assert perdure.run(ORACLE, out=out).metrics
