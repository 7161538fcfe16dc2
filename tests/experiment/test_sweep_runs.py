"""Sweeps on real processes: all of it, again, after failures, after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from perdure.experiment.runs import load
from perdure.experiment.sweep import Sweep, load_sweep, run_sweep
from perdure.reports.sweep_table import sweep_facts, sweep_table
from tests.core.sealed import edit_config

WAREHOUSE = """
name = "small"
[base]
environment = { name = "warehouse", tasks = 2, horizon = 20 }
models.default = { provider = "perfect_reader" }
[grid]
"agent.strategy" = [{ name = "full_history" }, { name = "sliding_window", turns = 1 }]
"""

BROKEN = """
[base]
environment = { name = "counter", tasks = 2 }
agent = { kind = "oracle" }
[[cases]]
name = "good"
[[cases]]
name = "bad"
set = { "environment" = { name = "counter", tasks = -1 } }
[[cases]]
name = "unknown"
set = { "environment" = { name = "nowhere" } }
"""


def planned(folder: Path, text: str) -> Sweep:
    file = folder / "sweep.toml"
    file.write_text(text)
    return load_sweep(file, out=folder / "out")


def test_a_sweep_runs_and_is_not_run_again(tmp_path: Path) -> None:
    sweep = planned(tmp_path, WAREHOUSE)
    first = run_sweep(sweep, workers=2)
    assert [(outcome.error, outcome.skipped) for outcome in first] == [("", False)] * 2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    again = run_sweep(sweep, workers=2)
    assert [outcome.skipped for outcome in again] == [True, True]
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert not list((tmp_path / "out").glob("*.log"))

    full, window = sweep_facts(again)
    assert full["score"] == 1.0
    assert full["score_sd"] == 0.0
    assert window["score"] < 0.6
    assert full["prompt_growth"]["value"] > 20 > abs(window["prompt_growth"]["value"])
    assert full["growth_exponent"]["value"] > window["growth_exponent"]["value"]
    assert full["tokens"]["cached"] > 0
    table = sweep_table("small", [full, window])
    assert table.rows[0][:2] == ("full_history", "1.00 ± 0.00")
    assert "recovery steps" not in table.header


def test_a_failed_run_does_not_stop_the_others(tmp_path: Path) -> None:
    sweep = planned(tmp_path, BROKEN)
    seen: list[str] = []
    outcomes = run_sweep(sweep, workers=1, on_outcome=lambda outcome: seen.append(outcome.run.label))
    good, bad, unknown = outcomes
    assert good.error == ""
    assert "tasks" in bad.error
    assert "nowhere" in unknown.error
    assert len(seen) == 3
    table = sweep_table("broken", sweep_facts(outcomes))
    assert [row[1] for row in table.rows] == ["1.00 ± 0.00", "failed", "failed"]


LONG = WAREHOUSE.replace("tasks = 2, horizon = 20", "tasks = 30, horizon = 400")

PROGRAM = """
import sys
from pathlib import Path
from perdure.experiment.sweep import load_sweep, run_sweep
run_sweep(load_sweep(Path(sys.argv[1]), out=Path(sys.argv[2])), workers=2)
"""


def sessions(folder: Path) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("*/sessions.jsonl"))


def wait_until_started(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while sessions(folder) < 2:
        assert time.monotonic() < deadline, "no session was finished"
        time.sleep(0.02)


def processes_of(folder: Path) -> list[int]:
    """Live processes that were told of this folder, or hold a file in it open."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            links = [os.readlink(link) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(str(folder)) for link in links):
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see whether processes are gone")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_killed_ends_its_processes_and_goes_on_later(
    tmp_path: Path, how: signal.Signals
) -> None:
    sweep = planned(tmp_path, LONG)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "sweep.toml"), str(sweep.out)],
        stderr=subprocess.DEVNULL,
    )
    wait_until_started(sweep.out)
    process.send_signal(how)
    process.wait(timeout=30)
    deadline = time.monotonic() + 30
    while processes_of(sweep.out):
        assert time.monotonic() < deadline, "a worker outlived its sweep"
        time.sleep(0.05)
    done = sessions(sweep.out)
    assert done < 60

    before = {path: path.read_bytes() for path in sweep.out.glob("*/sessions.jsonl")}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "sweep.toml"), str(sweep.out)],
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while sessions(sweep.out) <= done:
        assert time.monotonic() < deadline, "it did not go on"
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=30)
    for path, content in before.items():
        assert path.read_bytes().startswith(content)


PLUGGED = """
[base]
environment = { name = "world.py:World", tasks = "tasks.txt" }
agent = { kind = "oracle" }
execution = { limit = 2 }
"""

WORLD = """
from pathlib import Path
from helper import VERSION
from perdure.environments.counter import CounterEnvironment

class World(CounterEnvironment):
    def __init__(self, tasks: Path):
        super().__init__(tasks=int(tasks.read_text()))
        self.version = VERSION
"""


@pytest.fixture
def plugged(tmp_path: Path) -> Sweep:
    for name, content in {"world.py": WORLD, "helper.py": "VERSION = '1'\n", "tasks.txt": "6\n"}.items():
        (tmp_path / name).write_text(content)
    return planned(tmp_path, PLUGGED)


def test_a_longer_schedule_is_not_finished(plugged: Sweep, tmp_path: Path) -> None:
    (first,) = run_sweep(plugged)
    assert (first.error, len(load(first.run.folder).sessions)) == ("", 2)
    longer = planned(tmp_path, PLUGGED.replace("limit = 2", "limit = 4"))
    (second,) = run_sweep(longer)
    assert (second.error, second.skipped, len(load(first.run.folder).sessions)) == ("", False, 4)
    assert second.run.folder == first.run.folder
    (third,) = run_sweep(longer)
    assert (third.error, third.skipped) == ("", True)


@pytest.mark.parametrize(
    ("file", "content", "changed"),
    [
        ("world.py", WORLD + "\n", "sources.environment.world.py: "),
        ("helper.py", "VERSION = '1' \n", "sources.environment.helper.py: "),
        ("tasks.txt", "6", "data.environment.tasks: "),
    ],
)
def test_a_run_whose_files_changed_is_not_shown_as_finished(
    plugged: Sweep, tmp_path: Path, file: str, content: str, changed: str
) -> None:
    assert [outcome.error for outcome in run_sweep(plugged)] == [""]
    (tmp_path / file).write_text(content)
    (again,) = run_sweep(plugged)
    assert "holds a run of another configuration" in again.error
    assert changed in again.error


def test_a_plugin_that_ends_the_process_has_not_finished_its_run(plugged: Sweep, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import os\nprint('bye', flush=True)\nos._exit(0)\n")
    (outcome,) = run_sweep(plugged)
    assert outcome.error == "the process ended with code 0 before its run was finished"


def test_a_run_of_another_version_is_told_and_accepted(plugged: Sweep) -> None:
    run_sweep(plugged)
    config = plugged.runs[0].folder / "config.toml"
    edit_config(config, f'perdure = "{version("perdure")}"', 'perdure = "0.0.9"')
    (told,) = run_sweep(plugged)
    assert "was played with perdure 0.0.9, this is" in told.error
    (accepted,) = run_sweep(plugged, accept_version=True)
    assert (accepted.error, accepted.skipped) == ("", True)
    (again,) = run_sweep(plugged)
    assert (again.error, again.skipped) == ("", True)
