"""How fast sandboxes start and run commands, and what is left of them.

    python benchmarks/sandbox_start.py [--sandboxes N]

One line a figure: figure, target, ratio. Docker is compared where its engine answers ($DOCKER_HOST): the same
root file system, `docker run` until its first output, sandbox until its first output.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

from perdure.core.errors import PerdureError
from perdure.sandboxes.bubblewrap import BubblewrapSandbox

START_MS, COMMAND_MS, FASTER, TOGETHER = 20.0, 5.0, 20.0, 16
DOCKER_IMAGE = "perdure-root:debian"
DOCKER_RUNS = 8


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def start_sandboxes(count: int) -> list[float]:
    """Milliseconds of each start."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        machine = BubblewrapSandbox()
        times.append((time.perf_counter() - started) * 1e3)
        machine.close()
    return times


def first_output() -> None:
    """What is compared with `docker run`: start, print, end."""
    machine = BubblewrapSandbox()
    machine.exec("echo ready", timeout=20, max_output=100)
    machine.close()


def run_commands(count: int) -> list[float]:
    """Milliseconds of each command."""
    machine = BubblewrapSandbox()
    try:
        return [timed(lambda: machine.exec("echo x", timeout=20, max_output=100)) for _ in range(count)]
    finally:
        machine.close()


def run_together(count: int) -> int:
    """How many of so many sandboxes at once answer."""
    with ThreadPoolExecutor(count) as pool:
        machines = list(pool.map(lambda _: BubblewrapSandbox(), range(count)))
        said = pool.map(lambda machine: machine.exec("echo x", timeout=60, max_output=9).output, machines)
        answers = list(said).count(b"x\n")
        list(pool.map(lambda machine: machine.close(), machines))
    return answers


def docker_runs() -> list[float] | None:
    """Milliseconds of each `docker run` of the same root; None where no engine answers."""
    program = shutil.which("docker")
    if program is None:
        return None
    run = [program, "run", "--rm", "--network", "none", DOCKER_IMAGE, "echo", "ready"]
    try:
        from perdure.sandboxes.docker import DockerSandbox

        DockerSandbox().close()
    except PerdureError:
        return None
    return [timed(lambda: subprocess.run(run, check=True, capture_output=True)) for _ in range(DOCKER_RUNS)]


def left_behind() -> int:
    """Processes of this machine that are sandboxes, or their first processes."""
    marks = (b"bwrap\0--overlay-src", b"trap '' HUP INT QUIT")
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        found += any(mark in line for mark in marks)
    return found


def report(what: str, figure: float, target: float, unit: str, *, more_is_better: bool = False) -> bool:
    """Print one line; whether the target is reached."""
    ratio = figure / target if more_is_better else target / max(figure, 1e-9)
    print(f"{what}: {figure:.1f} {unit}, target {target:g} {unit}, ratio {ratio:.2f}")
    return ratio >= 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sandboxes", type=int, default=100)
    count = parser.parse_args().sandboxes
    try:
        BubblewrapSandbox().close()
    except PerdureError as problem:
        print(f"no bubblewrap sandbox here: {problem}")
        return 0
    before = left_behind()
    starts, commands = start_sandboxes(count), run_commands(2 * count)
    reached = [
        report("start of a fresh sandbox, p50", median(starts), START_MS, "ms"),
        report("one command, p50", median(commands), COMMAND_MS, "ms"),
        report("at once", run_together(TOGETHER), TOGETHER, "sandboxes", more_is_better=True),
    ]
    print(f"p95: start {quantiles(starts, n=20)[-1]:.1f} ms, command {quantiles(commands, n=20)[-1]:.1f} ms")
    docker = docker_runs()
    if docker is None:
        print("docker: no engine answers, not compared")
    else:
        ours = median(timed(first_output) for _ in range(DOCKER_RUNS * 3))
        print(f"docker run: {median(docker):.0f} ms, the same by bubblewrap: {ours:.1f} ms")
        reached.append(
            report("faster than docker run", median(docker) / ours, FASTER, "times", more_is_better=True)
        )
    left = left_behind() - before
    print(f"left behind: {left} processes, target 0")
    return 0 if all(reached) and left == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
