"""Many sessions at once: counter tasks of five calls each, against a loopback server with latency.

Each line is one figure with its target and ratio, beside what the latency alone takes. The server is
that of `model_concurrency.py`; `CPU a call` is that of this whole process.

    python benchmarks/lanes.py
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.model_concurrency import CALLS, LATENCY, most_at_once, serve
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment

ROUNDS = 3
TARGET_CPU = 1.6e-3
CASES = (
    (200, 64, 64, 0.0, 4.5),
    (200, 128, 64, 0.0, 4.1),
    (200, 64, 64, 0.02, 4.8),
    (512, 256, 256, 0.0, 4.5),
)
"""Tasks, lanes, connections, seconds that every fsync takes more, and the seconds to reach."""


def measure(port: int, tasks: int, lanes: int, connections: int) -> tuple[float, float, int]:
    """Seconds of the run, CPU seconds of one call, and the most requests that were under way at once."""
    with tempfile.TemporaryDirectory(prefix="perdure-lanes-") as scratch:
        config = load_config(
            {
                "environment": {"name": "counter", "tasks": tasks},
                "agent": {"kind": "model", "model": "m"},
                "models": {
                    "m": {
                        "provider": "openai_compatible",
                        "model": "m",
                        "base_url": f"http://127.0.0.1:{port}/v1",
                        "max_concurrency": connections,
                    }
                },
                "limits": {"max_interactions": CALLS},
                "execution": {"out": str(Path(scratch) / "run"), "max_parallel": lanes},
            }
        )
        with Experiment(config) as experiment:
            started, cpu = time.perf_counter(), time.process_time()
            experiment.run()
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return seconds, cpu / (tasks * CALLS), most_at_once(port)


def slow_syncs(seconds: float) -> None:
    """Let every fsync of this process take so much longer from here on."""
    for name in ("fsync", "fdatasync"):
        quick = getattr(os, name)

        def slow(file: int, quick=quick) -> None:  # type: ignore[no-untyped-def]
            quick(file)
            time.sleep(seconds)

        setattr(os, name, slow)


def main() -> None:
    ready, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(child,), daemon=True)
    server.start()
    port = ready.recv()
    real = os.fsync, os.fdatasync
    for tasks, lanes, connections, slower, target in CASES:
        os.fsync, os.fdatasync = real
        if slower:
            slow_syncs(slower)
        rounds = [measure(port, tasks, lanes, connections) for _ in range(ROUNDS)]
        seconds, cpu = (median(round_[i] for round_ in rounds) for i in range(2))
        slots = min(lanes, connections)
        limit = (
            -(-tasks // slots) * CALLS * LATENCY if lanes <= connections else tasks * CALLS / slots * LATENCY
        )
        told = f", fsync + {slower * 1e3:.0f} ms" if slower else ""
        print(
            f"{tasks} tasks x {CALLS} calls, {lanes} lanes, {connections} connections{told}: {seconds:.2f} s "
            f"(target <= {target} s, ratio {seconds / target:.2f}; latency alone {limit:.2f} s), CPU a call "
            f"{cpu * 1e3:.2f} ms (target <= {TARGET_CPU * 1e3:.1f} ms, ratio {cpu / TARGET_CPU:.2f}), "
            f"at most {max(round_[2] for round_ in rounds)} at once"
        )
    server.terminate()


if __name__ == "__main__":
    main()
