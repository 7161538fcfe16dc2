"""Plays real runs of the core without a configuration: real files, real environment, scripted model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from perdure.core.agent import Agent, ModelAgent
from perdure.core.callback import Callback, CallbackList
from perdure.core.controller import Limits
from perdure.core.environment import Environment
from perdure.core.model import LanguageModel, ModelSpec
from perdure.core.pool import ModelHandle, ModelPool
from perdure.core.types import Request, Trial
from perdure.environments.counter import CounterEnvironment
from perdure.experiment.lane import Lane
from perdure.experiment.stream import Stream
from perdure.models.scripted import Given, ReplyFunction, ScriptedModel
from perdure.storage.call_log import OnDivergence
from perdure.storage.run_reader import RunReader
from perdure.storage.run_store import RunStore
from perdure.strategies.full_history import FullHistory

DONE = "Action: done"
Replies = Sequence[Given] | ReplyFunction
AgentMaker = Callable[[ModelHandle], Agent]


def step_to_goal(request: Request) -> str:
    """A competent agent of the counter: goes to the goal by what the prompt says."""
    last = next(m.text for m in reversed(request.messages) if "counter is at" in m.text)
    goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
    value = int(last.split("counter is at ")[1].split(".")[0])
    gap = int(goal.split("counter to ")[1].split(",")[0]) - value
    return DONE if gap == 0 else f"Action: add {max(-9, min(9, gap))}"


def pool_of(model: LanguageModel) -> ModelPool:
    """A pool whose one model, `m`, is this instance."""
    return ModelPool({"m": ModelSpec("scripted")}, lambda _: model)


def full_history_agent(model: ModelHandle) -> Agent:
    return ModelAgent(model, FullHistory())


def play(
    folder: Path,
    replies: Replies = step_to_goal,
    callbacks: Iterable[Callback] = (),
    *,
    tasks: int = 3,
    environment: Environment | None = None,
    schedule: Sequence[Trial] | None = None,
    limits: Limits = Limits(max_interactions=8, max_turns=32),  # noqa: B008 - frozen
    agent: AgentMaker = full_history_agent,
    pool: ModelPool | None = None,
    snapshot_every: int = 50,
    on_divergence: OnDivergence = "restart",
    fsync: bool = False,
) -> RunReader:
    """Run, or resume, and return what the folder then holds."""
    pool = pool or pool_of(ScriptedModel(replies))
    environment = environment or CounterEnvironment(tasks=tasks)
    with closing(RunStore(folder, snapshot_every=snapshot_every, fsync=fsync)) as store:
        lane = Lane(
            environment=environment,
            agent=agent(pool.caller("agent", "m")),
            callbacks=CallbackList(callbacks),
            limits=limits,
            pool=pool,
        )
        Stream(
            schedule=schedule or [Trial(task_id) for task_id in environment.task_ids()],
            store=store,
            lane=lambda: lane,
            metric=environment.calculate_metric,
            on_divergence=on_divergence,
        ).run()
    return RunReader(folder)
