"""What a machine decides for a run, what a run stands on, and tasks that cannot be posed there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import perdure as package
from perdure.experiment.replay import replay
from perdure.experiment.runs import load
from perdure.experiment.sweep import load_sweep
from perdure.experiment.sweep.file import SweepRun
from perdure.experiment.sweep.resolution import resolve_runs
from perdure.sandboxes.root_fs import READY, root_folder
from tests import grounded
from tests.cli.conftest import Perdure
from tests.core.sealed import edit_config

WORLD = """
name = "run"
seed = {seed}
[environment]
name = "grounded.py:Grounded"
knobs = "knobs.json"
[agent]
kind = "{agent}"
"""


@pytest.fixture(autouse=True)
def world(folder: Path) -> None:
    shutil.copy(grounded.__file__, folder / "grounded.py")
    turn(auto="rock", state="dry")


def turn(**knobs: Any) -> None:
    Path("knobs.json").write_text(json.dumps(knobs))


def write(agent: str = "oracle", seed: int = 0) -> Path:
    path = Path(f"{agent}-{seed}.toml")
    path.write_text(WORLD.format(agent=agent, seed=seed))
    return path


def run(perdure: Perdure, *arguments: str | Path) -> Any:
    outcome = perdure("run", *arguments, "--quiet")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def facts(perdure: Perdure, *arguments: str | Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(run(perdure, *arguments, "--json").stdout)
    return body


def test_the_identity_holds_what_auto_means(perdure: Perdure) -> None:
    rock = facts(perdure, write())["folder"]
    assert load(rock).config.environment.parameters["ground"] == "rock"
    assert facts(perdure, write(), "--set", "environment.ground=rock")["folder"] == rock
    turn(auto="sand", state="dry")
    assert facts(perdure, write())["folder"] != rock
    assert facts(perdure, write(), "--set", "environment.ground=rock")["folder"] == rock


def test_a_replay_stands_on_the_ground_of_its_run(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"sand": ["1"]})
    folder = facts(perdure, write())["folder"]
    turn(auto="sand", state="dry", lacking={"sand": ["1"]})
    assert replay(load(folder)).reproduces


def test_an_unfinished_run_on_another_ground_is_told_in_one_line(perdure: Perdure) -> None:
    folder = facts(perdure, write(), "--limit", "2")["folder"]
    edit_config(Path(folder, "config.toml"), "planned = 2", "planned = 6")
    turn(auto="sand", state="dry")
    told = run(perdure, write()).stderr.splitlines()
    assert told == [f"'{folder}' holds 2/6 sessions of this: --set environment.ground=rock continues it"]
    assert run(perdure, write("do_nothing")).stderr == "", "another agent"
    facts(perdure, write(), "--set", "environment.ground=rock")
    turn(auto="clay", state="dry")
    assert run(perdure, write()).stderr == "", "all are finished"


def test_another_state_of_the_ground_is_told_and_recorded_and_not_refused(perdure: Perdure) -> None:
    folder = facts(perdure, write(), "--limit", "2")["folder"]
    turn(auto="rock", state="wet")
    told = run(perdure, write(), "--limit", "4").stderr.splitlines()
    assert told == [f"since '{folder}' was begun this has changed: state 'dry' → 'wet'"]
    assert run(perdure, write()).stderr == "", "it was told"
    seen = json.loads(Path(folder, "surroundings.json").read_text())["seen"]
    assert seen == [{"ground": "rock", "state": "dry"}, {"ground": "rock", "state": "wet"}]
    assert len(load(folder).sessions) == 6


@pytest.mark.parametrize("text", ["", "[]", '{"v": 1}', '{"seen": 3}', '{"seen": [3]}'])
def test_a_damaged_record_of_surroundings_is_one_line(perdure: Perdure, text: str) -> None:
    folder = facts(perdure, write(), "--limit", "2")["folder"]
    Path(folder, "surroundings.json").write_text(text)
    outcome = perdure("run", write())
    assert outcome.exit_code == 2
    assert "surroundings.json' cannot be read" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_an_environment_that_decides_nothing_records_nothing(perdure: Perdure) -> None:
    folder = facts(perdure, "counter.toml")["folder"]
    assert not Path(folder, "surroundings.json").exists()


def test_compare_warns_of_runs_on_other_grounds(perdure: Perdure) -> None:
    one, same = facts(perdure, write())["folder"], facts(perdure, write("do_nothing"))["folder"]
    assert json.loads(perdure("compare", one, same, "--json").stdout)["apart"] == ""
    assert "warning" not in perdure("compare", one, same).stdout
    turn(auto="sand", state="dry")
    other = facts(perdure, write("do_nothing"))["folder"]
    warning = f"the runs do not stand on the same ground (rock: {one}; sand: {other})"
    assert json.loads(perdure("compare", one, other, "--json").stdout)["apart"] == warning
    assert f"warning: {warning}" in perdure("compare", one, other).stdout.splitlines()
    turn(auto="rock", state="wet")
    later = facts(perdure, write("do_nothing", seed=1), "--set", "seed=0", "--out", "later")["folder"]
    told = json.loads(perdure("compare", one, later, "--json").stdout)["apart"]
    assert told == f"the runs do not stand on the same state (dry: {one}; wet: {later})"


def test_a_sweep_decides_once_also_when_it_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    Path("sweep.toml").write_text(
        '[base]\nagent = { kind = "oracle" }\nenvironment = { name = "operating_system" }\n'
        "[grid]\nseed = [1, 2]\n"
    )
    sweep = load_sweep(Path("sweep.toml"), out=Path("out"))
    assert roots(resolve_runs(sweep, sweep.runs)) == ["host", "host"]
    ready = root_folder("debian") / READY
    ready.parent.mkdir(parents=True)
    ready.touch()
    assert roots(resolve_runs(sweep, sweep.runs)) == ["host", "host"]
    elsewhere = load_sweep(Path("sweep.toml"), out=Path("elsewhere"))
    assert roots(resolve_runs(elsewhere, elsewhere.runs)) == ["debian", "debian"]


ON_A_ROOT = """
import os
from pathlib import Path
from perdure.environments.operating_system import OperatingSystemEnvironment

with Path("loaded_by").open("a") as file:
    file.write(f"{os.getpid()}\\n")
print("loaded")


class Mine(OperatingSystemEnvironment):
    pass
"""


def test_a_sweep_decides_once_for_a_subclass_in_a_file_without_loading_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    Path("mine.py").write_text(ON_A_ROOT)
    Path("dies.py").write_text("import os\nos._exit(7)\n")
    Path("sweep.toml").write_text(
        '[base]\nagent = { kind = "oracle" }\n[grid]\nseed = [1, 2]\n'
        'environment.name = ["dies.py:Mine", "mine.py:Mine", "counter"]\n'
    )
    sweep = load_sweep(Path("sweep.toml"), out=Path("out"))
    given = [run.config["environment"].get("root") for run in resolve_runs(sweep, sweep.runs)]
    assert sorted(given, key=str) == [None, None, None, None, "host", "host"]
    ready = root_folder("debian") / READY
    ready.parent.mkdir(parents=True)
    ready.touch()
    again = [run.config["environment"].get("root") for run in resolve_runs(sweep, sweep.runs)]
    assert again == given, "also when it goes on another day"
    loaders = set(Path("loaded_by").read_text().split())
    assert str(os.getpid()) not in loaders
    assert len(loaders) == 1


def roots(runs: list[SweepRun]) -> list[str]:
    return [run.config["environment"]["root"] for run in runs]


def test_ignored_sessions_are_in_no_rate_and_are_named(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": ["1", "4"]})
    found = facts(perdure, write())
    reasons = {"no 1 in ground rock": 1, "no 4 in ground rock": 1}
    assert (found["sessions"], found["planned"], found["finished"]) == (6, 6, True)
    assert found["ignored"] == reasons
    assert found["outcomes"] == {"correct": 4, "ignored": 2}
    assert (found["success"]["correct"], found["success"]["of"]) == (4, 4)
    assert found["success_without_limit_reached"]["of"] == 4
    assert [floor["success"]["of"] for floor in found["floors"].values()] == [4, 4]
    assert found["metrics"]["overall.success_rate"] == 1.0
    assert found["metrics"]["overall.basic.session_count"] == 4.0
    assert "overall.evaluation_outcome.ignored" not in found["metrics"]
    line = "2 of 6 sessions (no 1 in ground rock 1, no 4 in ground rock 1)"
    assert f"ignored, in no rate: {line}" in run(perdure, write()).stdout.splitlines()
    for option in ((), ("--markdown",)):
        report = " ".join(perdure("report", found["folder"], *option).stdout.split())
        assert "4/4 1.00" in report
        assert "2 of 6 sessions" in report
    assert json.loads(perdure("report", found["folder"], "--json").stdout)[0]["ignored"] == reasons
    assert replay(load(found["folder"])).reproduces


def test_an_estimate_asks_no_model_about_what_is_ignored(perdure: Perdure) -> None:
    scripted = '\n[models.default]\nprovider = "scripted"\nreplies = ["Action: done"]\ncycle = true\n'
    path = write("model")
    path.write_text(path.read_text() + scripted)
    every = json.loads(perdure("run", path, "--dry-run", "--json").stdout)
    turn(auto="rock", state="dry", lacking={"rock": ["1", "4"]})
    some = json.loads(perdure("run", path, "--dry-run", "--json").stdout)
    assert some["calls_at_most"] == every["calls_at_most"] * 4 // 6
    assert 0 < some["first_prompt_tokens"] < every["first_prompt_tokens"]


def test_a_run_whose_every_task_is_ignored_has_no_rate(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": list("012345")})
    found = facts(perdure, write())
    assert found["success"] == {"correct": 0, "of": 0, "rate": None, "low": 0.0, "high": 1.0}
    assert "ignored, in no rate: 6 of 6 sessions" in run(perdure, write()).stdout
    assert perdure("report", found["folder"]).exit_code == 0
    other = facts(perdure, write("do_nothing"))["folder"]
    outcome = perdure("compare", found["folder"], other)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "have no trial that neither of them ignored" in outcome.stderr


def test_compare_leaves_out_what_either_run_ignored(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": ["1"], "sand": ["4", "5"]})
    nothing = facts(perdure, write("do_nothing"))["folder"]
    turn(auto="sand", state="dry", lacking={"rock": ["1"], "sand": ["4", "5"]})
    oracle = facts(perdure, write())["folder"]
    body = json.loads(perdure("compare", nothing, oracle, "--json").stdout)
    (found,) = body["differences"]
    assert (found["pairs"], found["won"], found["lost"], found["ignored"]) == (3, 3, 0, 3)
    assert (found["trials"], found["counted"], found["correct"]) == (6, 4, 4)
    assert found["difference"]["estimate"] == 1.0
    assert set(found["success_difference"].values()) == {1.0}
    assert found["outcomes"] == {"correct": 4, "ignored": 2}
    assert found["learning"]["area_under_curve"]["estimate"] == 1.0
    told = " ".join(perdure("compare", nothing, oracle).stdout.split())
    assert "4/4 1.00" in told
    assert "ignored: 3 pairs of trials" in told


def test_probes_leave_out_what_is_ignored(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": ["0", "5"]})
    sets = ["probes.checkpoints=3", 'tasks=["0","1","2","3"]']
    folder = run_with(perdure, sets)
    from perdure.experiment.probes import run_transfer

    found = run_transfer(load(folder))
    assert (found.forward, found.forgetting, found.held_out) == (0.0, 0.0, 0.0)


def run_with(perdure: Perdure, sets: list[str]) -> str:
    arguments = [part for value in sets for part in ("--set", value)]
    folder: str = facts(perdure, write(), *arguments)["folder"]
    return folder


def test_progress_and_sweeps_leave_out_what_is_ignored(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": ["1", "4"]})
    told = perdure("run", write()).stderr.splitlines()
    assert any(line.startswith("6/6 tasks · success 100.0%") for line in told)
    Path("sweep.toml").write_text('base = "oracle-0.toml"\n[grid]\nseed = [1, 2]\n')
    outcome = perdure("sweep", "sweep.toml", "--json", "--quiet")
    for one in json.loads(outcome.stdout)["runs"]:
        assert (one["sessions"], one["score"], sum(one["ignored"].values())) == (4, 1.0, 2)
    assert "ignored" in perdure("sweep", "sweep.toml").stdout


def test_the_conformance_suite_names_what_is_ignored(perdure: Perdure) -> None:
    turn(auto="rock", state="dry", lacking={"rock": ["1", "4"]})
    sets = ["--set", "knobs=knobs.json", "--set", "ground=rock", "--set", "tasks=20"]
    outcome = perdure("check", "environment", "grounded.py:Grounded", *sets)
    expected = "oracle solves the tasks: 18/20 tasks; ignored: no 1 in ground rock 1, no 4 in ground rock 1"
    assert expected in outcome.stdout
    assert outcome.exit_code == 0, outcome.stdout


def test_the_library_decides_too(folder: Path) -> None:
    finished = package.run(write())
    assert finished.config.environment.parameters["ground"] == "rock"
