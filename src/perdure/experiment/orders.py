"""The order of a stream: it is the experiment, so it is made from the tasks, their skills and the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Literal, TypeAlias, get_args

from perdure.core.randomness import keyed_random

Order: TypeAlias = Literal["given", "shuffled", "by_skill", "interleaved", "easy_to_hard"]
ORDERS: tuple[Order, ...] = get_args(Order)

Skills: TypeAlias = Mapping[str, Sequence[str]]
"""Task → the skills it needs; known to the environment only, whose world says them."""


def needs_skills(order: Order) -> bool:
    """Whether `arrange` looks at skills."""
    return order in ("by_skill", "interleaved", "easy_to_hard")


def arrange(tasks: Sequence[str], order: Order, *, skills: Skills | None = None, seed: int = 0) -> list[str]:
    """The same tasks in another order.

    `shuffled` draws by seed. `by_skill` puts the tasks of one leading skill in a block, `interleaved` takes
    one task of each block in turn; the seed draws the order of the blocks, within one the given order stays.
    `easy_to_hard` sorts by the number of skills a task needs, ties as given.
    """
    known = skills or {}
    match order:
        case "given":
            return list(tasks)
        case "shuffled":
            return keyed_random(seed, "order").sample(list(tasks), len(tasks))
        case "by_skill":
            return list(chain.from_iterable(skill_blocks(tasks, known, seed).values()))
        case "interleaved":
            rounds = zip_longest(*skill_blocks(tasks, known, seed).values())
            return [task for turn in rounds for task in turn if task is not None]
        case "easy_to_hard":
            return sorted(tasks, key=lambda task: len(set(known.get(task, ()))))


def skill_blocks(tasks: Sequence[str], skills: Skills, seed: int = 0) -> dict[str, list[str]]:
    """Leading skill → its tasks. A task leads with its rarest skill of these tasks (ties by name)."""
    counts = Counter(skill for task in tasks for skill in set(skills.get(task, ())))
    blocks: dict[str, list[str]] = {}
    for task in tasks:
        leading = min(skills.get(task, ()), key=lambda skill: (counts[skill], skill), default="")
        blocks.setdefault(leading, []).append(task)
    names = sorted(blocks)
    return {name: blocks[name] for name in keyed_random(seed, "blocks").sample(names, len(names))}
