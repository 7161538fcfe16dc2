"""Plays tasks of an environment under test, with the real controller and a run folder that is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.core.agent import Agent
from perdure.core.callback import CallbackList
from perdure.core.controller import Controller, Limits, Trial
from perdure.core.environment import Environment, Opening
from perdure.core.errors import ConfigError
from perdure.core.model import ModelPool
from perdure.core.session import SessionRecord
from perdure.experiment.scripted_agents import DoNothing
from perdure.storage.run_store import Journal, RunStore


@dataclass(frozen=True)
class Companions:
    """What an environment's module offers beside its class (see `perdure.environments`)."""

    do_nothing: str
    max_interactions: int
    build_oracle: Callable[[], Agent] | None = None
    normal_form: Callable[[str], str | None] | None = None
    normalise: Callable[[str], str] = lambda text: text


class Subject:
    """An environment under test: one instance for most checks, and fresh ones on demand."""

    def __init__(self, build: Callable[[], Environment], companions: Companions, sample: int) -> None:
        self.build = build
        self._built: list[Environment] = []
        self._actions: dict[str, list[str]] | None = None
        self.companions = companions
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

    def do_nothing_agent(self) -> Agent:
        """The floor."""
        return DoNothing(self.companions.do_nothing)

    def actions(self, task: str) -> list[str]:
        """What the oracle did in a task, or the do-nothing reply where there is no oracle."""
        if self._actions is None:
            build = self.companions.build_oracle
            agent = build() if build is not None else self.do_nothing_agent()
            self._actions = {}
            play(self, agent, actions=self._actions)
        return self._actions[task]

    def observations(self, task: str) -> list[str]:
        """What the environment answers to the oracle, from the first observation on."""
        texts = [self.environment.reset(task).observation.text]
        texts += [self.environment.interact(action).text for action in self.actions(task)]
        self.environment.complete()
        return texts

    def opening_text(self, opening: Opening) -> str:
        """An opening as one text, without what may differ between two plays."""
        return self.companions.normalise("\n".join(message.text for message in opening.history))

    def transcript(self, environment: Environment, task: str, actions: Sequence[str]) -> list[str]:
        """The opening, every answer and the verdict of one play, each as one text."""
        texts = [self.opening_text(environment.reset(task))]
        for action in actions:
            observation = environment.interact(action)
            text = self.companions.normalise(observation.text)
            texts.append(f"{text} {observation.accepted} {observation.done} {observation.status}")
        evaluation = environment.complete()
        return [*texts, f"{evaluation.outcome} {evaluation.reward} {sorted(evaluation.detail.items())}"]


def play(
    subject: Subject, agent: Agent, *, actions: dict[str, list[str]] | None = None
) -> list[SessionRecord]:
    """Play the sample through the controller; `actions` collects what was done, by task."""
    limits = Limits(subject.companions.max_interactions, max_turns=4 * subject.companions.max_interactions)
    with tempfile.TemporaryDirectory(prefix="perdure-check-") as scratch:
        store = RunStore(Path(scratch), fsync=False)
        journal = Journal(Path(scratch) / "journal.jsonl", normalise=subject.companions.normalise)
        try:
            Controller(
                schedule=[Trial(task) for task in subject.tasks],
                environment=subject.environment,
                agent=agent,
                callbacks=CallbackList(),
                pool=ModelPool({}, _no_model),
                store=store,
                journal=journal,
                limits=limits,
            ).run()
            if actions is not None:
                for past in store.past:
                    actions[past.record.task_id] = [item.action for item in past.interactions]
            return list(store.past.records())
        finally:
            journal.close()
            store.close()


def spread(items: list[str], count: int) -> list[str]:
    """`count` items at equal distances, the first and the last among them."""
    if len(items) <= count or count < 2:
        return items[:count]
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def _no_model(_spec: Any) -> Any:
    raise ConfigError("a scripted agent asks no model")
