"""Tasks are generator seeds: task `43` is the script of seed 43."""

from __future__ import annotations

from perdure.core.types import Task
from perdure.environments.repository.parameters import Parameters
from perdure.environments.repository.prompts import GOAL


def make_tasks(count: int, seed: int, parameters: Parameters) -> dict[str, Task]:
    """`count` tasks by id: the seeds from `seed` on."""
    goal = GOAL.format(events=parameters.horizon)
    return {str(number): Task(str(number), goal) for number in range(seed, seed + count)}
