"""The only wiring: a configuration becomes an environment, an agent, callbacks, a pool and a controller."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal

from perdure.core.agent import Agent
from perdure.core.callback import Callback, CallbackList, label_of
from perdure.core.errors import ConfigError, Divergence
from perdure.core.types import JSON, Trial
from perdure.experiment.blocks import Blocks
from perdure.experiment.callbacks import CallbackPart, block_callbacks, callback_parts, frozen_callbacks
from perdure.experiment.config import RunConfig, config_hash
from perdure.experiment.kept_files import KeptFiles
from perdure.experiment.lane import Lane
from perdure.experiment.parallelism import Parallelism, parallelism
from perdure.experiment.parts import Parts
from perdure.experiment.plugins import Plugins
from perdure.experiment.probes import (
    check_probes_taken,
    is_probe_finished,
    moved_lines,
    probe_folder,
    probe_positions,
)
from perdure.experiment.run_folder import Description, RunFolder, default_folder, pending_sessions
from perdure.experiment.schedule import make_schedule, probed_tasks
from perdure.experiment.shared_watcher import SharedWatcher
from perdure.experiment.stream import Stream
from perdure.experiment.surroundings import record_surroundings, resolve_config
from perdure.storage.run_store import RunStore


class Experiment:
    """One run, ready to be carried out. Close it, or use it as a context manager.

    `base` is the folder of the configuration: relative paths are looked for there, then in the current
    folder. `watchers` are callbacks that only look (progress bars); they are not part of the run's identity.
    `accept_version` goes on with a run that another version of perdure began. Without `asks_models` every
    call is served from a record, and no model's files are needed. Raises UsageError.
    """

    def __init__(
        self,
        config: RunConfig,
        *,
        base: Path | None = None,
        watchers: Iterable[str] = (),
        accept_version: bool = False,
        asks_models: bool = True,
    ) -> None:
        self.base = (base or Path.cwd()).resolve()
        self.config = config = resolve_config(config, self.base)
        self.was_finished = False
        """Whether `run` found nothing left to do."""
        self._watchers = list(watchers)
        self.accept_version = accept_version
        self._plugins = Plugins(config, self.base, asks_models=asks_models)
        self._parts = Parts(self._plugins)
        self.pool = self._parts.pool
        self.world = self._parts.world
        self.limits = self._parts.limits
        self._building = Lock()
        self.environment = self._parts.environment()
        try:
            self.schedule = make_schedule(self.environment, config, self._skills)
            self.probe_positions = probe_positions(config.probes, len(self.schedule), self._block or 1)
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
                    self.environment = self._parts.environment()

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
        """A fresh agent as configured, for `environment`."""
        return self._parts.agent(self.environment)

    def callbacks(self) -> list[Callback]:
        """Fresh callbacks as configured, in order."""
        return self._parts.callbacks(self._callback_parts, self._facts)

    def normalise(self, observation: str) -> str:
        """An observation without what legitimately differs between two runs."""
        return self.world.normalise(observation)

    def check(self) -> None:
        """Build what a run builds first. Raises UsageError where the configuration does not allow it."""
        CallbackList(self.callbacks()).close()
        self.agent()
        self._build_agent_model()
        self.parallelism()

    @property
    def pending(self) -> int:
        """Sessions of the schedule that the run folder does not hold yet."""
        return pending_sessions(self.folder, len(self.schedule))

    def close(self) -> None:
        """Free the environment and the models. Idempotent."""
        self.environment.release()
        self.pool.close()

    @property
    def moved(self) -> list[str]:
        """What stands elsewhere than the configuration says, as memory is frozen in blocks: one line each."""
        block, sessions = self._block or 1, len(self.schedule)
        return moved_lines(self.config.probes, self.config.execution.snapshot_every, block, sessions)

    @property
    def trials(self) -> list[Trial]:
        """Everything that will be played: the stream, and every probe."""
        return [*self.schedule, *self._probed * len(self.probe_positions)]

    def _build_agent_model(self) -> None:
        """A model that cannot be built is told before the folder exists."""
        if self.config.agent.kind == "model" and self.pending:
            self.pool.get(self.config.agent.model)

    def parallelism(self) -> Parallelism:
        """How many lanes the run has. Raises ConfigError for a number that would change its results.

        A finished run needs one, and none of its models.
        """
        if not self.pending and not self.probe_positions:
            return Parallelism(1)
        return parallelism(
            self.config.execution.max_parallel,
            world=self.world,
            environment=self.environment,
            models=self.pool.asked,
            streams=self._reaching,
            block=self._block,
        )

    @property
    def _reaching(self) -> list[str]:
        """Callbacks that have memory over sessions."""
        return [part.label for part in self._callback_parts if part.reaches and not self._is_frozen(part)]

    @property
    def parallelism_warning(self) -> str:
        """What a user should know of the number of lanes that was asked for. Raises ConfigError."""
        self.check()
        return self.parallelism().warning

    def _attempt(self, restart: Collection[int] | Literal["all"]) -> Mapping[str, JSON]:
        self.check()
        lanes = self.parallelism().lanes
        with ExitStack() as stack:
            watchers = self._watch(stack)
            folder = stack.enter_context(self._open(self.folder, self.identity, len(self.schedule)))
            finished = folder.metrics
            self.was_finished = finished is not None
            if folder.pending:
                record_surroundings(self.folder, self.config, self.base)
            store = stack.enter_context(self._store(self.folder))
            build = self._callback_builder(watchers)
            blocks = self._blocks(self._block) if self._block else None
            stream = self._stream(self.schedule, store, build, lanes, blocks, frozen=self.config.stateless)
            stack.callback(stream.close)
            if restart:
                stream.restart(None if restart == "all" else restart)
            stream.restore()
            check_probes_taken(self.folder, self.probe_positions, len(store.past), len(self._probed))
            for position in self.probe_positions:
                stream.play(position)
                self._probe(position, store, lanes)
            stream.play(len(self.schedule))
            return stream.finish() if finished is None else finished

    def _probe(self, position: int, stream: RunStore, lanes: int) -> None:
        """All tasks with the memory that the stream has here; a finished one is not played again."""
        if is_probe_finished(self.folder, position, len(self._probed)):
            return
        snapshot, deltas = stream.state()

        def build(parts: Parts) -> CallbackList:
            return frozen_callbacks(
                self._callback_parts,
                lambda chosen: parts.callbacks(chosen, self._facts),
                watch=False,
                past=stream.past,
                states=snapshot.callbacks,
                deltas=deltas,
            )

        folder = probe_folder(self.folder, position)
        identity = {**self.identity, "probe": position}
        with (
            self._open(folder, identity, len(self._probed)),
            self._store(folder) as store,
            closing(self._stream(self._probed, store, build, lanes, None, frozen=True)) as probe,
        ):
            if snapshot.history_items is not None:
                probe.begin_with(snapshot.history_items)
            probe.run()

    def _watch(self, stack: ExitStack) -> list[Callback]:
        """The run's watchers, shared by its lanes; they are closed with `stack`."""
        lock = RLock()
        watchers = self._parts.callbacks([p for p in self._callback_parts if p.watches], self._facts)
        for watcher in watchers:
            stack.callback(watcher.close)
        return [SharedWatcher(watcher, lock) for watcher in watchers]

    def _callback_builder(self, watchers: Sequence[Callback]) -> Callable[[Parts], CallbackList]:
        """Builds the callbacks of a lane."""
        shared = {label_of(watcher): watcher for watcher in watchers}

        def make(parts: Parts, chosen: Iterable[CallbackPart]) -> list[Callback]:
            made = []
            for part in chosen:
                watcher = shared.get(part.label)
                made += [watcher] if watcher is not None else parts.callbacks([part], self._facts)
            return made

        def build(parts: Parts) -> CallbackList:
            chosen = self._callback_parts
            if self.config.stateless:
                return frozen_callbacks(chosen, lambda some: make(parts, some))
            if self.config.memory_block:
                return block_callbacks(chosen, lambda some: make(parts, some))
            return CallbackList(make(parts, chosen))

        return build

    @property
    def _block(self) -> int | None:
        """For how many sessions memory is frozen, where anything remembers."""
        return None if self.config.stateless else self.config.memory_block

    def _blocks(self, size: int) -> Blocks:
        reaching = [part for part in self._callback_parts if part.reaches]
        return Blocks(
            size,
            lambda: CallbackList(self._parts.callbacks(reaching, self._facts)),
            self.environment.history_factory.items(),
        )

    def _is_frozen(self, part: CallbackPart) -> bool:
        return self.config.stateless and part.learns

    def _open(self, folder: Path, identity: Mapping[str, JSON], planned: int) -> RunFolder:
        kept, may_grow = self._plugins.kept(), self.config.probes is None
        if folder != self.folder:  # a probe has its stream's copies
            up = os.path.relpath(self.folder, folder)
            kept = KeptFiles({key: f"{up}/{place}" for key, place in kept.values.items()})
        run = Description(self.config, identity, self.base, planned, kept, may_grow)
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

    def _stream(
        self,
        schedule: Sequence[Trial],
        store: RunStore,
        callbacks: Callable[[Parts], CallbackList],
        lanes: int,
        blocks: Blocks | None,
        *,
        frozen: bool,
    ) -> Stream:
        return Stream(
            schedule=schedule,
            store=store,
            lane=lambda: self._lane(callbacks, alone=lanes == 1),
            metric=self.environment.calculate_metric,
            lanes=lanes,
            blocks=blocks,
            on_divergence=self.config.execution.on_divergence,
            normalise=self.world.normalise,
            frozen=frozen,
            wall_clock=self.config.is_wall_clock,
            reaches=bool(self._reaching),
        )

    def _lane(self, callbacks: Callable[[Parts], CallbackList], *, alone: bool) -> Lane:
        """A lane with parts of its own; one that is alone plays in the environment that described the run."""
        with self._building, ExitStack() as stack:
            parts = self._parts if alone else self._parts.lane()  # the pool that the environment asks
            environment = self.environment if alone else parts.environment()
            if not alone:
                stack.callback(environment.release)
            listening = callbacks(parts)
            stack.callback(listening.close)
            return Lane(
                environment=environment,
                agent=parts.agent(environment),
                callbacks=listening,
                limits=parts.limits,
                pool=parts.pool,
                reply_form=self.world.reply_form(environment),
                close=stack.pop_all().close,
            )

    @cached_property
    def _callback_parts(self) -> list[CallbackPart]:
        return callback_parts(self.config.callbacks, self._watchers, self._plugins.load)

    @property
    def _facts(self) -> dict[str, Any]:
        """What callbacks may ask of the run."""
        return {"total": len(self.schedule), "folder": self.folder}

    def _skills(self) -> Mapping[str, Sequence[str]]:
        """Skills by task. Raises ConfigError where the world does not know them."""
        if self.world.skills is None:
            raise ConfigError(
                f"order = {self.config.order!r}: environment {self.config.environment.name!r} does not say "
                "which skills its tasks need"
            )
        return self.world.skills(self.environment)
