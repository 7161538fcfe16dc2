"""Plays tasks of an environment under test, with the real controller and a run folder that is thrown away."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from perdure.conformance.checks import shorten
from perdure.core.agent import Agent
from perdure.core.callback import CallbackList
from perdure.core.controller import Limits
from perdure.core.environment import Environment, Opening
from perdure.core.errors import ConfigError
from perdure.core.pool import ModelPool
from perdure.core.session import SessionRecord
from perdure.core.types import Trial
from perdure.core.world import World
from perdure.experiment.lane import Lane
from perdure.experiment.scripted_agents import DoNothing
from perdure.experiment.stream import Stream
from perdure.storage.run_store import RunStore

_CHUNK = 10
"""Tasks between two looks at the clock."""


class Subject:
    """A world under test: one instance for most checks, and fresh ones on demand."""

    def __init__(
        self, world: World, build: Callable[[], Environment], sample: int, oracle_seconds: float = 0.0
    ) -> None:
        self.world = world
        self.build = build
        self._oracle_seconds = oracle_seconds
        self._built: list[Environment] = []
        self._actions: dict[str, list[str]] | None = None
        self.environment = self.fresh()
        self.tasks = spread(list(self.environment.task_ids()), sample)
        """The sample that is played."""

    def fresh(self) -> Environment:
        """Another instance, released at the end."""
        self._built.append(self.build())
        return self._built[-1]

    def close(self) -> None:
        """Release every instance."""
        for environment in self._built:
            environment.release()

    def play_by_oracle(self, agent: Agent) -> list[SessionRecord]:
        """The sample first, then the other tasks in their order, as long as the time lasts."""
        end = time.monotonic() + self._oracle_seconds
        records = play(self, agent)
        others = [task for task in self.environment.task_ids() if task not in set(self.tasks)]
        while others and time.monotonic() < end:
            records += play(self, agent, tasks=others[:_CHUNK])
            del others[:_CHUNK]
        return records

    def do_nothing_agent(self) -> Agent:
        """The floor."""
        return DoNothing(self.world.do_nothing)

    def oracle(self) -> Agent | None:
        """The ceiling, where the world has one."""
        return None if self.world.oracle is None else self.world.oracle(self.environment)

    def actions(self, task: str) -> list[str]:
        """What the oracle did in a task, or the do-nothing reply where there is no oracle."""
        if self._actions is None:
            self._actions = {}
            play(self, self.oracle() or self.do_nothing_agent(), actions=self._actions)
        return self._actions[task]

    def observations(self, task: str) -> list[str]:
        """What the environment answers to the oracle, from the first observation on."""
        texts = [self.environment.reset(Trial(task)).observation.text]
        texts += [self.environment.interact(action).text for action in self.actions(task)]
        self.environment.complete()
        return texts

    def opening_text(self, opening: Opening) -> str:
        """An opening as one text, without what may differ between two plays."""
        return self.world.normalise("\n".join(message.text for message in opening.history))

    def transcript(
        self,
        environment: Environment,
        task: str,
        actions: Sequence[str],
        between: Callable[[Environment], None] = lambda environment: None,
    ) -> list[str]:
        """The opening, every answer and the verdict of one play, each as one text; `between` actions."""
        texts = []
        for text in self.steps(environment, task, actions):
            texts.append(text)
            if len(texts) < len(actions) + 2:
                between(environment)
        return texts

    def steps(self, environment: Environment, task: str, actions: Sequence[str]) -> Iterator[str]:
        """The same, one after the other."""
        yield self.opening_text(environment.reset(Trial(task)))
        for action in actions:
            observation = environment.interact(action)
            text = self.world.normalise(observation.text)
            yield f"{text} {observation.accepted} {observation.done} {observation.status}"
        evaluation = environment.complete()
        yield f"{evaluation.outcome} {evaluation.reward} {sorted(evaluation.detail.items())}"


def play(
    subject: Subject,
    agent: Agent,
    *,
    tasks: Sequence[str] | None = None,
    actions: dict[str, list[str]] | None = None,
) -> list[SessionRecord]:
    """Play tasks, by default the sample, through the controller; `actions` collects what was done."""
    limits = Limits(subject.world.max_interactions, max_turns=4 * subject.world.max_interactions)
    with (
        tempfile.TemporaryDirectory(prefix="perdure-check-") as scratch,
        closing(RunStore(Path(scratch), fsync=False)) as store,
    ):
        environment = subject.environment
        lane = Lane(
            environment=environment,
            agent=agent,
            callbacks=CallbackList(),
            limits=limits,
            pool=ModelPool({}, _no_model),
        )
        Stream(
            schedule=[Trial(task) for task in tasks or subject.tasks],
            store=store,
            lane=lambda: lane,
            metric=environment.calculate_metric,
            normalise=subject.world.normalise,
        ).run()
        if actions is not None:
            for past in store.past:
                actions[past.record.task_id] = [item.action for item in past.interactions]
        return list(store.past.records())


def parting(first: Sequence[str], second: Sequence[str]) -> str:
    """Where two transcripts part, in one line."""
    pairs = zip(first, second, strict=False)
    step = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
    texts = [shorten(item[step]) if step < len(item) else "nothing" for item in (first, second)]
    return f"step {step} differs: {texts[0]} and then {texts[1]}"


def spread(items: list[str], count: int) -> list[str]:
    """`count` items at equal distances, the first and the last among them."""
    if len(items) <= count or count < 2:
        return items[:count]
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def _no_model(_spec: Any) -> Any:
    raise ConfigError("a scripted agent asks no model")
