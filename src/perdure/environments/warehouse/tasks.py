"""Tasks are generator seeds: task `43` is the script of seed 43."""

from __future__ import annotations

from perdure.core.types import Task
from perdure.environments.warehouse.parameters import PAGES, Parameters
from perdure.environments.warehouse.prompts import GOAL


def make_tasks(count: int, seed: int, parameters: Parameters) -> dict[str, Task]:
    """`count` tasks by id: the seeds from `seed` on."""
    events = parameters.horizon + (PAGES if parameters.preloaded else 0)
    goal = GOAL.format(events=events)
    return {str(number): Task(str(number), goal) for number in range(seed, seed + count)}
