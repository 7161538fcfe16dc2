"""Tasks made from a seed: task `k` starts at one number and wants another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perdure.core.randomness import keyed_random
from perdure.core.types import Task
from perdure.environments.counter.prompts import GOAL


@dataclass(frozen=True)
class CounterTask(Task):
    """Where the counter starts and where it must end."""

    start: int = 0
    target: int = 0


class CounterTasks(Mapping[str, CounterTask]):
    """`count` tasks by id, each made when it is asked for; more tasks keep the first ones.

    The distance is at most 30, so that four steps of 9 always suffice.
    """

    def __init__(self, count: int, seed: int) -> None:
        self._ids = {str(index): index for index in range(count)}
        self._seed = seed

    def __getitem__(self, id_: str) -> CounterTask:
        draw = keyed_random(self._seed, "counter", self._ids[id_])
        start = draw.randint(-20, 20)
        target = start + draw.choice([-1, 1]) * draw.randint(1, 30)
        skill = "increase" if target > start else "decrease"
        return CounterTask(id_, GOAL.format(target=target), (skill,), start, target)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
