"""The only wiring: a configuration becomes an environment, an agent, callbacks, a pool and a controller."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from perdure.core.agent import Agent, ModelAgent
from perdure.core.callback import Callback, CallbackList
from perdure.core.controller import Limits
from perdure.core.environment import Environment
from perdure.core.errors import ConfigError, Divergence
from perdure.core.types import JSON, Sampling, Trial
from perdure.experiment.callbacks import CallbackPart, callback_parts, frozen_callbacks
from perdure.experiment.config import RunConfig, config_hash
from perdure.experiment.kept_files import KeptFiles
from perdure.experiment.lanes import Lane
from perdure.experiment.plugins import Plugins
from perdure.experiment.probes import (
    check_probes_taken,
    is_probe_finished,
    probe_folder,
    probe_positions,
)
from perdure.experiment.registry import resolve_path
from perdure.experiment.run_folder import Description, RunFolder, default_folder, pending_sessions
from perdure.experiment.schedule import make_schedule, probed_tasks
from perdure.experiment.scripted_agents import DoNothing, FixedResponse
from perdure.experiment.surroundings import record_surroundings, resolve_config
from perdure.storage.run_store import RunStore


class Experiment:
    """One run, ready to be carried out. Close it, or use it as a context manager.

    `base` is the folder of the configuration: relative paths are looked for there, then in the current
    folder. `watchers` are callbacks that only look (progress bars); they are not part of the run's identity.
    `accept_version` goes on with a run that another version of perdure began. Raises UsageError.
    """

    def __init__(
        self,
        config: RunConfig,
        *,
        base: Path | None = None,
        watchers: Iterable[str] = (),
        accept_version: bool = False,
    ) -> None:
        self.base = (base or Path.cwd()).resolve()
        self.config = config = resolve_config(config, self.base)
        self.was_finished = False
        """Whether `run` found nothing left to do."""
        self._watchers = list(watchers)
        self.accept_version = accept_version
        self._plugins = Plugins(config, self.base)
        self.pool = self._plugins.pool
        self.world = self._plugins.world
        self.limits = self._limits()
        self.environment = self._build_environment()
        try:
            self.schedule = make_schedule(self.environment, config, self._skills)
            self.probe_positions = probe_positions(config.probes, len(self.schedule))
            self._probed = probed_tasks(self.environment, config)
        except BaseException:
            self.environment.release()
            raise

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(self, *, restart: Collection[int] | Literal["all"] = ()) -> Mapping[str, JSON]:
        """Run, or resume, and return the environment's metrics.

        A re-executed task that diverges from its log starts again, from callbacks as they were committed.
        `restart`: places in the schedule of open tasks that take a fresh start.
        """
        RunFolder.check(self.folder, self.identity, accept_version=self.accept_version)
        with self._plugins.sealed():
            while True:
                try:
                    return self._attempt(restart)
                except Divergence:
                    restart = ()
                    self.environment.release()
                    self.environment = self._build_environment()

    @cached_property
    def identity(self) -> dict[str, JSON]:
        """What this run's results depend on. Raises UsageError."""
        return self._plugins.identity(self.environment.version)

    @cached_property
    def folder(self) -> Path:
        """The run folder: that of the configuration, else one that follows from its name and identity."""
        out = self.config.execution.out
        return Path(out) if out else default_folder(self.config.name, config_hash(self.identity))

    def agent(self) -> Agent:
        """A fresh agent as configured."""
        section = self.config.agent
        if section.kind == "oracle":
            if self.world.oracle is None:
                raise ConfigError(f"environment {self.config.environment.name!r} has no oracle")
            return self.world.oracle(self.environment)
        if section.kind == "do_nothing":
            return DoNothing(self.world.do_nothing)
        if section.kind == "fixed_response":
            if section.run is None:
                raise ConfigError("agent.run: missing; it names the run folder whose replies are replayed")
            return FixedResponse(resolve_path(section.run, self.base))
        sampling = Sampling(**{**section.sampling.model_dump(), "stop": tuple(section.sampling.stop)})
        strategy = self._plugins.construct(
            self._plugins.load("strategy", section.strategy.name),
            section.strategy.parameters,
            "agent.strategy",
            {"model": self._plugins.handle("strategy", section.model), **self._strategy_offers()},
            {"world": self.world},
            caller="strategy",
        )
        support = self.world.state(self.environment) if self.world.state is not None else None
        return ModelAgent(
            self._plugins.handle("agent", section.model),
            strategy,
            instructions=self.environment.instructions,
            sampling=sampling,
            seed=self.config.seed,
            retries=self._retries(),
            read_action=self.environment.read_action,
            no_op=support.no_op if support is not None else None,
        )

    def _retries(self) -> int:
        """As configured; else none where the strategy or the environment is as published, else two."""
        section = self.config.agent
        if section.retries is not None:
            return section.retries
        published = (section.strategy.parameters, self.config.environment.parameters)
        return 0 if any(parameters.get("compat") == "paper" for parameters in published) else 2

    def callbacks(self) -> list[Callback]:
        """Fresh callbacks as configured, in order."""
        return self._made(self._callback_parts())

    def normalise(self, observation: str) -> str:
        """An observation without what legitimately differs between two runs."""
        return self.world.normalise(observation)

    def check(self) -> None:
        """Build what a run builds first. Raises UsageError where the configuration does not allow it."""
        with closing(self._callbacks()):
            self.agent()
        self._build_agent_model()

    @property
    def pending(self) -> int:
        """Sessions of the schedule that the run folder does not hold yet."""
        return pending_sessions(self.folder, len(self.schedule))

    def close(self) -> None:
        """Free the environment and the models. Idempotent."""
        self.environment.release()
        self.pool.close()

    @property
    def trials(self) -> list[Trial]:
        """Everything that will be played: the stream, and every probe."""
        return [*self.schedule, *self._probed * len(self.probe_positions)]

    def _build_agent_model(self) -> None:
        """A model that cannot be built is told before the folder exists."""
        if self.config.agent.kind == "model" and self.pending:
            self.pool.get(self.config.agent.model)

    def _attempt(self, restart: Collection[int] | Literal["all"]) -> Mapping[str, JSON]:
        callbacks, agent = self._callbacks(), self.agent()
        self._build_agent_model()
        with ExitStack() as stack:
            stack.callback(self._detach)
            stack.callback(callbacks.close)
            folder = stack.enter_context(self._open(self.folder, self.identity, len(self.schedule)))
            finished = folder.metrics
            self.was_finished = finished is not None
            if folder.pending:
                record_surroundings(self.folder, self.config, self.base)
            store = stack.enter_context(self._store(self.folder))
            lane = self._lane(self.schedule, agent, callbacks, store, frozen=self.config.stateless)
            if restart:
                lane.restart(None if restart == "all" else restart)
            lane.restore()
            check_probes_taken(self.folder, self.probe_positions, len(store.past), len(self._probed))
            for position in self.probe_positions:
                lane.play(position)
                self._probe(position, store)
            lane.play(len(self.schedule))
            return lane.finish() if finished is None else finished

    def _probe(self, position: int, stream: RunStore) -> None:
        """All tasks with the memory that the stream has here; a finished one is not played again."""
        if is_probe_finished(self.folder, position, len(self._probed)):
            return
        snapshot, deltas = stream.state()
        frozen = frozen_callbacks(
            self._callback_parts(),
            self._made,
            watch=False,
            past=stream.past,
            states=snapshot.callbacks,
            deltas=deltas,
        )
        folder = probe_folder(self.folder, position)
        identity = {**self.identity, "probe": position}
        with (
            closing(frozen),
            self._open(folder, identity, len(self._probed)),
            self._store(folder) as store,
        ):
            lane = self._lane(self._probed, self.agent(), frozen, store, frozen=True)
            lane.restore()
            lane.play(len(self._probed))
            lane.finish()

    def _open(self, folder: Path, identity: Mapping[str, JSON], planned: int) -> RunFolder:
        kept = self._plugins.kept()
        if folder != self.folder:  # a probe has its stream's copies
            up = os.path.relpath(self.folder, folder)
            kept = KeptFiles({key: f"{up}/{place}" for key, place in kept.values.items()})
        run = Description(self.config, identity, self.base, planned, kept)
        return RunFolder.open(folder, run, accept_version=self.accept_version)

    def _store(self, folder: Path) -> closing[RunStore]:
        """The files of a stream or a probe, whose lock is held."""
        execution = self.config.execution
        return closing(
            RunStore(
                folder,
                identity=config_hash(self.identity),
                snapshot_every=execution.snapshot_every,
                fsync=execution.fsync,
            )
        )

    def _lane(
        self,
        schedule: Sequence[Trial],
        agent: Agent,
        callbacks: CallbackList,
        store: RunStore,
        *,
        frozen: bool,
    ) -> Lane:
        return Lane(
            schedule=schedule,
            environment=self.environment,
            agent=agent,
            callbacks=callbacks,
            limits=self.limits,
            pool=self.pool,
            store=store,
            on_divergence=self.config.execution.on_divergence,
            normalise=self.world.normalise,
            reply_form=self.world.reply_form(self.environment),
            frozen=frozen,
        )

    def _detach(self) -> None:
        """The pool outlives an attempt; what it knows of it does not."""
        self.pool.recorder = None

    def _limits(self) -> Limits:
        section = self.config.limits
        interactions = section.max_interactions or self.world.max_interactions
        return Limits(
            max_interactions=interactions,
            max_turns=section.max_turns or 4 * interactions,
            max_seconds=section.max_seconds,
            ask_beyond_limit=section.ask_beyond_limit,
        )

    def _build_environment(self) -> Environment:
        section = self.config.environment
        environment: Environment = self._plugins.construct(
            self._plugins.load("environment", section.name),
            section.parameters,
            "environment",
            {"seed": self.config.seed},
            {"max_interactions": self.limits.max_interactions},
            caller="environment",
        )
        return environment

    def _strategy_offers(self) -> dict[str, Any]:
        """What the world has for strategies that keep a state or read actions."""
        if self.world.state is None:
            form = self.world.reply_form(self.environment)
            return {"action_form": f"written as an action of this form:\n{form}"}
        support = self.world.state(self.environment)
        return {
            "state_schema": support.schema,
            "action_pattern": support.action_pattern,
            "action_form": support.action_form,
        }

    def _callbacks(self) -> CallbackList:
        if self.config.stateless:
            return frozen_callbacks(self._callback_parts(), self._made)
        return CallbackList(self._made(self._callback_parts()))

    def _callback_parts(self) -> list[CallbackPart]:
        return callback_parts(self.config.callbacks, self._watchers, self._plugins.load)

    def _made(self, parts: Iterable[CallbackPart]) -> list[Callback]:
        facts = {
            "total": len(self.schedule),
            "folder": self.folder,
            "pool": self.pool,
            "world": self.world,
        }
        return [part.build(self._plugins, {"seed": self.config.seed}, facts) for part in parts]

    def _skills(self) -> Mapping[str, Sequence[str]]:
        """Skills by task. Raises ConfigError where the world does not know them."""
        if self.world.skills is None:
            raise ConfigError(
                f"order = {self.config.order!r}: environment {self.config.environment.name!r} does not say "
                "which skills its tasks need"
            )
        return self.world.skills(self.environment)
