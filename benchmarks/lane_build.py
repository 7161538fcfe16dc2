"""What another lane costs: time and memory of building 64 more instances of an environment.

Prints one line a figure: what, figure, target, ratio to the target (above 1 is better than asked). The
first instance loads what all of them share (task files, graphs, grammars): it is the process's, not a lane's.
Each world is measured in a process of its own; every instance has opened its first task. Seconds are those of
the processor, because a busy machine only ever makes them longer.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from perdure.core.environment import Environment
from perdure.core.types import Trial
from perdure.experiment.registry import load_world

WORLDS = ("counter", "database", "knowledge_graph")
LANES = 64
SECONDS = 0.3
MEGABYTES = 2.0


def resident() -> float:
    """Megabytes of this process that are in memory."""
    status = Path("/proc/self/status").read_text("utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def opened(name: str) -> Environment:
    """A new instance with its first task open."""
    environment = load_world(name).environment()
    environment.reset(Trial(environment.task_ids()[0]))
    return environment


def measure(name: str) -> None:
    """Print both figures of one world."""
    lanes = [opened(name)]
    before, started = resident(), time.process_time()
    lanes += [opened(name) for _ in range(LANES)]
    seconds, megabytes = time.process_time() - started, (resident() - before) / LANES
    print(
        f"{name}, {LANES} lanes built: {seconds:.3f} s, target <= {SECONDS} s, ratio {SECONDS / seconds:.2f}"
    )
    ratio = MEGABYTES / max(megabytes, 0.001)
    print(f"{name}, memory a lane: {megabytes:.2f} MB, target <= {MEGABYTES} MB, ratio {ratio:.2f}")
    for lane in lanes:
        lane.release()


def main() -> None:
    for name in WORLDS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    measure(sys.argv[1]) if sys.argv[1:] else main()
