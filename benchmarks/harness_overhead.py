"""Harness time per step and per task without a model, fsync counted apart, and whether it stays flat.

Prints one line a figure: what, figure, target, ratio to the target. Medians over the tasks of one run; a
whole run and its report are told in seconds, and in those of the processor, which others hardly stretch.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import perdure
from perdure.core.callback import Callback, CallbackContext

STEPS = 200
CLOCK = f"{Path(__file__)}:Clock"


def read_counter(request: perdure.Request) -> str:
    """A model that costs nothing."""
    return "Action: read"


class Clock(Callback):
    """Seconds from the creation of one session to the creation of the next."""

    reach = "watch"
    marks: list[float] = []  # noqa: RUF012 - the benchmark reads it after the run

    def on_session_create(self, ctx: CallbackContext) -> None:
        Clock.marks.append(time.perf_counter())


def task_seconds(config: dict[str, Any]) -> tuple[list[float], Path]:
    """Wall-clock seconds of each task but the last of one run, and its folder."""
    Clock.marks.clear()
    folder = Path(tempfile.mkdtemp(prefix="perdure-bench-"))
    perdure.run({**config, "callbacks": [{"name": CLOCK}]}, out=folder)
    # The class was loaded from this file under another module name: its marks are there.
    marks = _loaded_clock().marks
    seconds = [after - before for before, after in pairwise(marks)]
    marks.clear()
    return seconds, folder


def _loaded_clock() -> type[Clock]:
    from perdure.experiment.registry import load_plugin

    clock: type[Clock] = load_plugin("callback", CLOCK).target
    return clock


def line(what: str, figure: float, target: float, unit: str) -> None:
    print(f"{what}: {figure:.3f} {unit}, target <= {target:g} {unit}, ratio {figure / target:.2f}")


def counter(tasks: int, fsync: bool) -> dict[str, Any]:
    return {
        "environment": {"name": "counter", "tasks": tasks},
        "agent": {"kind": "model"},
        "models": {"default": {"provider": "scripted", "replies": f"{Path(__file__)}:read_counter"}},
        "limits": {"max_interactions": STEPS},
        "execution": {"fsync": fsync},
    }


def database(fsync: bool) -> dict[str, Any]:
    return {
        "environment": {"name": "database"},
        "agent": {"kind": "do_nothing"},
        "execution": {"fsync": fsync, "repeat": 5},
    }


def flatness(tasks: int) -> None:
    config = counter(tasks, False)
    config["agent"] = {"kind": "oracle"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    seconds, folder = task_seconds(config)
    whole(f"{tasks} counter tasks by the oracle", started, time.process_time() - cpu, 5)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report(folder)
    first, last = median(seconds[:100]), median(seconds[-100:])
    line(f"last 100 of {tasks} tasks to the first 100", last / first, 1.2, "x")
    line("memory grown over them", (after - before) / 1024, 20, "MB")
    lines = (folder / "sessions.jsonl").read_bytes().splitlines()
    quarter = len(lines) // 4
    size = [sum(map(len, lines[i * quarter : (i + 1) * quarter])) for i in range(4)]
    line("disk of the last quarter of tasks to the first", size[3] / size[0], 1.05, "x")
    blobs = folder / "blobs" / "texts.jsonl"
    print(f"disk per task: {(sum(map(len, lines)) + blobs.stat().st_size) / len(lines):.0f} bytes")
    assert json.loads(lines[-1])["index"] == tasks - 1


def report(folder: Path) -> None:
    """What `perdure report` takes as a user calls it."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "perdure", "report", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    whole("their report", started, cpu, 1)


def whole(what: str, started: float, cpu: float, target: float) -> None:
    line(what, time.perf_counter() - started, target, "s")
    line(f"{what}, processor", cpu, target, "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000, help="length of the flatness run")
    tasks = parser.parse_args().tasks
    seconds, _ = task_seconds(counter(20, False))
    line(f"per step, full history of {STEPS} steps", median(seconds) / STEPS * 1e3, 0.15, "ms")
    seconds, _ = task_seconds(database(False))
    without = median(seconds) * 1e3
    line("per database task (reset, one action, complete)", without, 1, "ms")
    seconds, _ = task_seconds(database(True))
    print(f"fsync adds {median(seconds) * 1e3 - without:.3f} ms a task")
    flatness(tasks)


if __name__ == "__main__":
    main()
