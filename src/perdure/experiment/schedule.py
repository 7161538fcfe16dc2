"""Which task is played when: all tasks in an order, then all again for each repeat; and the probes' tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from perdure.core.environment import Environment
from perdure.core.errors import ConfigError
from perdure.core.plain_json import short_repr
from perdure.core.types import Trial
from perdure.experiment.config import RunConfig
from perdure.experiment.orders import arrange, needs_skills

MAX_SESSIONS = 10_000_000
"""Sessions of one run's schedule."""


def make_schedule(
    environment: Environment, config: RunConfig, skills: Callable[[], Mapping[str, Sequence[str]]]
) -> list[Trial]:
    """Every trial in order: all tasks, then all again for each repeat. Raises ConfigError.

    The order is made before `execution.limit` cuts it, so that a longer run continues a shorter one.
    """
    ids = _checked_tasks(config.tasks, _known_tasks(environment), environment, "tasks")
    known = skills() if needs_skills(config.order) else None
    ids = arrange(ids, config.order, skills=known, seed=config.seed)
    if config.execution.limit is not None:
        ids = ids[: config.execution.limit]
    if len(ids) * config.execution.repeat > MAX_SESSIONS:
        raise ConfigError(
            f"execution.repeat: {config.execution.repeat} times {len(ids)} tasks; "
            f"a run has at most {MAX_SESSIONS:,} sessions"
        )
    clock = config.instant
    return [Trial(id_, repeat, clock) for repeat in range(config.execution.repeat) for id_ in ids]


def probed_tasks(environment: Environment, config: RunConfig) -> list[Trial]:
    """What each probe plays. Raises ConfigError."""
    if config.probes is None:
        return []
    known = _known_tasks(environment)
    tasks = _checked_tasks(config.probes.tasks, known, environment, "probes.tasks")
    return [Trial(task, clock=config.instant) for task in tasks]


def _known_tasks(environment: Environment) -> list[str]:
    given: object = environment.task_ids()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ConfigError(f"{environment.name!r} has {short_repr(given)} in place of a list of task ids")
    for id_ in given:
        if not isinstance(id_, str):
            raise ConfigError(f"{environment.name!r} has a task {short_repr(id_)}; a task's id is a text")
    return list(given)


def _checked_tasks(
    wanted: list[str] | None, known: list[str], environment: Environment, key: str
) -> list[str]:
    if wanted is None:
        return known
    unknown = [task for task in wanted if task not in set(known)]
    if unknown:
        some = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        raise ConfigError(f"{key}: {environment.name!r} has no task {unknown[0]!r}; it has: {some}")
    twice = [task for task, count in Counter(wanted).items() if count > 1]
    if twice:
        raise ConfigError(f"{key}: {twice[0]!r} is there twice; execution.repeat plays tasks several times")
    return wanted
