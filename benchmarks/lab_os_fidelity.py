"""How many published tasks their own ground truth solves, and how many stay unsolved without it.

    python benchmarks/lab_os_fidelity.py [TASKS.json] [--sandbox NAME] [--limit N]

Two lines: figure, target, ratio. Then one line for each task that misses, with what its grading said.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perdure.environments.operating_system.machines import machine_maker, resolve_root
from perdure.environments.operating_system.scoring import command_line
from perdure.environments.operating_system.tasks import OsTask, load_tasks

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "lifelongagentbench" / "os_interaction.json"
TARGET = 494 / 500
SECONDS = 20.0


@dataclass(frozen=True)
class Played:
    """A task set up and graded, with its ground truth or without."""

    task: str
    with_solution: bool
    set_up: int | None
    solved: bool
    said: str

    @property
    def as_it_should(self) -> bool:
        return self.solved == self.with_solution


def play(task: OsTask, with_solution: bool, sandbox: str = "bubblewrap") -> Played:
    """Set a machine up, solve the task on it or do not, grade it."""
    if task.evaluation is None or task.solution is None:
        raise ValueError(f"task {task.id!r} is not graded by a script")
    root = resolve_root(sandbox, "auto")  # type: ignore[arg-type]  # checked there
    machine = machine_maker(sandbox, root, "fresh")()  # type: ignore[arg-type]
    try:
        scripts = [task.initialization, *([task.solution] if with_solution else []), task.evaluation]
        results = [
            machine.exec(command_line(script), timeout=SECONDS, max_output=2_000) for script in scripts
        ]
    finally:
        machine.close()
    said = b" | ".join(result.output.strip() for result in results).decode("utf-8", "replace")
    return Played(task.id, with_solution, results[0].exit_code, results[-1].exit_code == 0, said[-300:])


def play_all(tasks: Sequence[OsTask], sandbox: str, workers: int = 4) -> list[Played]:
    """Each task with its ground truth and without."""
    with ThreadPoolExecutor(workers) as pool:
        return list(
            pool.map(
                lambda job: play(job[0], job[1], sandbox),
                [(task, with_solution) for task in tasks for with_solution in (True, False)],
            )
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="?", type=Path, default=PUBLISHED)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    if not options.tasks.is_file():
        print(f"no published tasks at {options.tasks}")
        return 0
    tasks = list(load_tasks(options.tasks).tasks.values())[: options.limit]
    played = play_all(tasks, options.sandbox)
    reached = True
    for with_solution, what, target in ((True, "ground truth passes", TARGET), (False, "controls fail", 1.0)):
        right = sum(one.as_it_should for one in played if one.with_solution is with_solution)
        rate = right / len(tasks)
        reached &= rate >= target
        print(f"{what}: {right}/{len(tasks)} = {rate:.4f}, target {target:.4f}, ratio {rate / target:.3f}")
    for one in played:
        if not one.as_it_should:
            print(
                f"  task {one.task}, {'with' if one.with_solution else 'without'} ground truth: {one.said!r}"
            )
    failed = sorted({one.task for one in played if one.set_up}, key=int)
    print(f"set-up scripts that fail: {', '.join(failed) or 'none'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
