"""Operating-system tasks side by side: throughput of the oracle with 16 machines at once, against one.

The shipped tasks, as many as `--tasks` (a run has each once; what is missing is played as repeats). What is
timed is the run alone: the helper process and the root file system are there before. As many machines that
only start, run two commands and end tell what bubblewrap itself gives here.

    python benchmarks/os_lanes.py [--tasks 50]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.sandboxes.bubblewrap import BubblewrapSandbox

LANES = 16
ROUNDS = 3
TARGET = 1.4


def run_seconds(tasks: int, lanes: int) -> float:
    """Seconds of one run of so many sessions."""
    with tempfile.TemporaryDirectory(prefix="perdure-os-lanes-") as scratch:
        shipped = len(_shipped())
        config = load_config(
            {
                "environment": {"name": "operating_system"},
                "agent": {"kind": "oracle"},
                "execution": {
                    "out": str(Path(scratch) / "run"),
                    "max_parallel": lanes,
                    "repeat": -(-tasks // shipped),
                    "limit": tasks,
                },
            }
        )
        with Experiment(config) as experiment:
            started = time.perf_counter()
            experiment.run()
            return time.perf_counter() - started


def bare_seconds(machines: int, at_once: int) -> float:
    """Seconds in which so many machines start, run two commands each and are gone."""

    def use(_: int) -> None:
        machine = BubblewrapSandbox()
        for _ in range(2):
            machine.exec("ls /etc | sort | tail -3", timeout=60, max_output=1000)
        machine.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(use, range(machines)))
    return time.perf_counter() - started


def _shipped() -> list[str]:
    config = load_config({"environment": {"name": "operating_system"}, "agent": {"kind": "oracle"}})
    with Experiment(config) as experiment:
        return list(experiment.environment.task_ids())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=50)
    tasks = parser.parse_args().tasks
    run_seconds(2, 1)
    rounds = [
        (run_seconds(tasks, 1), run_seconds(tasks, LANES), bare_seconds(tasks, 1), bare_seconds(tasks, LANES))
        for _ in range(ROUNDS)
    ]
    serial, together, bare, bare_together = (median(column) for column in zip(*rounds, strict=True))
    faster = serial / together
    print(
        f"{tasks} operating-system tasks by the oracle: {serial:.2f} s serial, {together:.2f} s with {LANES} "
        f"lanes, {faster:.2f}x (target >= {TARGET}x, ratio {faster / TARGET:.2f}; "
        f"bare machines {bare / bare_together:.2f}x)"
    )


if __name__ == "__main__":
    main()
