"""Tasks made from a seed: task `k` starts at one number and wants another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from perdure.core.randomness import keyed_random
from perdure.core.types import Task
from perdure.environments.counter.prompts import GOAL


@dataclass(frozen=True)
class CounterTask(Task):
    """Where the counter starts and where it must end."""

    start: int = 0
    target: int = 0


@lru_cache(maxsize=4)
def make_tasks(count: int, seed: int) -> Mapping[str, CounterTask]:
    """`count` tasks by id; the distance is at most 30, so that four steps of 9 always suffice.

    They are made once a process: the lanes of a run share them.
    """
    tasks = {}
    for index in range(count):
        draw = keyed_random(seed, "counter", index)
        start = draw.randint(-20, 20)
        target = start + draw.choice([-1, 1]) * draw.randint(1, 30)
        skill = "increase" if target > start else "decrease"
        tasks[str(index)] = CounterTask(str(index), GOAL.format(target=target), (skill,), start, target)
    return MappingProxyType(tasks)
