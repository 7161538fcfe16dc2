"""10,000 counter tasks by the oracle: the run, and `perdure report` over it. Medians of three.

python benchmarks/many_tasks.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import perdure

TASKS = 10_000
ROUNDS = 3
TARGETS = {"run": 5.0, "report": 1.0}


def measure(folder: Path) -> dict[str, float]:
    """Seconds of the run within this process, and of the report command as a user starts it."""
    config = {
        "environment": {"name": "counter", "tasks": TASKS},
        "agent": {"kind": "oracle"},
        "execution": {"out": str(folder)},
    }
    started = time.perf_counter()
    perdure.run(config)
    ran = time.perf_counter()
    command = [str(Path(sys.executable).with_name("perdure")), "report", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"run": ran - started, "report": time.perf_counter() - ran}


def main() -> None:
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="perdure-many-") as scratch:
            rounds.append(measure(Path(scratch) / "run"))
    for what, target in TARGETS.items():
        seconds = median(round_[what] for round_ in rounds)
        ratio = seconds / target
        print(f"{what} of {TASKS:,} tasks: {seconds:.2f} s, target <= {target:.0f} s, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
