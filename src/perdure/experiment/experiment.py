"""The only wiring: a configuration becomes an environment, an agent, callbacks, a pool and a controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from perdure.core.agent import Agent, ModelAgent
from perdure.core.callback import Callback, CallbackList
from perdure.core.controller import Controller, Limits
from perdure.core.environment import Environment
from perdure.core.errors import ConfigError, Divergence
from perdure.core.model import LanguageModel, ModelHandle, ModelPool, ModelSpec
from perdure.core.types import JSON, Sampling, Trial
from perdure.experiment.config import RunConfig, config_hash, flatten
from perdure.experiment.construct import bind, construct
from perdure.experiment.frozen import FrozenCallbacks
from perdure.experiment.orders import arrange, needs_skills
from perdure.experiment.probes import check_probes_taken, probe_folder, probe_positions, read_probe
from perdure.experiment.registry import Plugin, load_plugin, load_world, resolve_path
from perdure.experiment.run_folder import check_identity, default_folder, write_config
from perdure.experiment.scripted_agents import DoNothing, FixedResponse
from perdure.experiment.sources import source_digests
from perdure.storage.files import line_offsets
from perdure.storage.run_store import Journal, RunStore

MAX_SESSIONS = 10_000_000
"""Sessions of one run's schedule."""


class Experiment:
    """One run, ready to be carried out. Close it, or use it as a context manager.

    `base` is the folder of the configuration: relative paths are looked for there, then in the current
    folder. `watchers` are callbacks that only look (progress bars); they are not part of the run's identity.
    Raises UsageError.
    """

    def __init__(self, config: RunConfig, *, base: Path | None = None, watchers: Iterable[str] = ()) -> None:
        self.config = config
        self.base = (base or Path.cwd()).resolve()
        self._watchers = list(watchers)
        self.world = load_world(config.environment.name, base=self.base)
        self.limits = self._limits()
        self.pool = self._build_pool()
        self.environment = self._build_environment()
        try:
            self.schedule = make_schedule(self.environment, config, self._skills)
            self.probe_positions = probe_positions(config.probes, len(self.schedule))
            self._probed = self._probed_tasks()
            self.identity = self._identity()
        except BaseException:
            self.environment.release()
            raise
        out = config.execution.out
        self.folder = Path(out) if out else default_folder(config.name, config_hash(self.identity))

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(self) -> Mapping[str, JSON]:
        """Run, or resume, and return the environment's metrics.

        A re-executed task that diverges from its journal starts again, from callbacks as they were committed.
        """
        check_identity(self.folder, self.identity)
        try:
            return self._attempt()
        except Divergence:
            self.environment.release()
            self.environment = self._build_environment()
            return self._attempt()

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
        strategy = self._construct(
            load_plugin("strategy", section.strategy.name, base=self.base),
            section.strategy.parameters,
            "agent.strategy",
            {"model": self._handle("strategy", section.model), **self._strategy_offers()},
            {"world": self.world},
        )
        return ModelAgent(
            self._handle("agent", section.model), strategy, sampling=sampling, seed=self.config.seed
        )

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
        finished = sum(1 for _ in line_offsets(self.folder / "sessions.jsonl"))
        return max(0, len(self.schedule) - finished)

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

    def _attempt(self) -> Mapping[str, JSON]:
        callbacks, agent = self._callbacks(), self.agent()
        self._build_agent_model()
        with ExitStack() as stack:
            stack.callback(self._detach)
            stack.callback(callbacks.close)
            store, journal = stack.enter_context(self._opened(self.folder))
            write_config(self.folder, self.config, self.identity, self.base, planned=len(self.schedule))
            controller = self._controller(self.schedule, agent, callbacks, store, journal)
            controller.restore()
            check_probes_taken(self.folder, self.probe_positions, len(store.past), len(self._probed))
            for position in self.probe_positions:
                controller.play(position)
                self._probe(position, store)
            controller.play(len(self.schedule))
            return controller.finish()

    def _probe(self, position: int, stream: RunStore) -> None:
        """All tasks with the memory that the stream has here; a finished one is not played again."""
        taken = read_probe(self.folder, position)
        if taken is not None and len(taken) == len(self._probed):
            return
        states, deltas = stream.callback_state()
        frozen = FrozenCallbacks(self._learners, past=stream.past, states=states, deltas=deltas)
        with closing(frozen), self._opened(probe_folder(self.folder, position)) as (store, journal):
            controller = self._controller(self._probed, self.agent(), frozen, store, journal)
            controller.restore()
            controller.play(len(self._probed))
            controller.finish()

    @contextmanager
    def _opened(self, folder: Path) -> Iterator[tuple[RunStore, Journal]]:
        """The files of a stream or a probe; an interrupted task that diverged loses its record."""
        execution = self.config.execution
        with (
            closing(
                RunStore(folder, snapshot_every=execution.snapshot_every, fsync=execution.fsync)
            ) as store,
            closing(
                Journal(
                    folder / "journal.jsonl",
                    on_divergence=execution.on_divergence,
                    normalise=self.normalise,
                )
            ) as journal,
        ):
            try:
                yield store, journal
            except Divergence:
                journal.discard()
                raise

    def _controller(
        self,
        schedule: Sequence[Trial],
        agent: Agent,
        callbacks: CallbackList,
        store: RunStore,
        journal: Journal,
    ) -> Controller:
        return Controller(
            schedule=schedule,
            environment=self.environment,
            agent=agent,
            callbacks=callbacks,
            pool=self.pool,
            store=store,
            journal=journal,
            limits=self.limits,
            reply_form=self.world.reply_form(self.environment),
        )

    def _detach(self) -> None:
        """The pool outlives an attempt; what it knows of it does not."""
        self.pool.recorder = self.pool.draws = None
        self.pool.drain_charges()

    def _limits(self) -> Limits:
        section = self.config.limits
        interactions = section.max_interactions or self.world.max_interactions
        return Limits(
            max_interactions=interactions,
            max_turns=section.max_turns or 4 * interactions,
            max_seconds=section.max_seconds,
            ask_beyond_limit=section.ask_beyond_limit,
        )

    def _build_pool(self) -> ModelPool:
        cache = None
        if self.config.execution.cache:
            from perdure.models.response_cache import ResponseCache

            cache = ResponseCache()
        specs = {}
        for name, section in self.config.models.items():
            plugin = load_plugin("model", section.provider, base=self.base)
            bind(
                plugin.target,
                section.parameters,
                where=f"models.{name}",
                base=self.base,
                given={"world": self.world},
            )
            specs[name] = ModelSpec(section.provider, dict(section.parameters))
        return ModelPool(specs, self._build_model, cache=cache)

    def _build_model(self, spec: ModelSpec) -> LanguageModel:
        plugin = load_plugin("model", spec.provider, base=self.base)
        model: LanguageModel = construct(
            plugin.target,
            spec.parameters,
            where=f"models ({spec.provider})",
            base=self.base,
            given={"world": self.world},
        )
        return model

    def _build_environment(self) -> Environment:
        section = self.config.environment
        environment: Environment = self._construct(
            load_plugin("environment", section.name, base=self.base),
            section.parameters,
            "environment",
            {"seed": self.config.seed},
            {"max_interactions": self.limits.max_interactions},
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
            "fallback_action": support.no_op,
        }

    def _callbacks(self) -> CallbackList:
        if self.config.stateless:
            return FrozenCallbacks(self._learners, watchers=self._made(learners=False))
        return CallbackList(self._made())

    def _learners(self) -> list[Callback]:
        return self._made(watchers=False)

    def _made(self, *, learners: bool = True, watchers: bool = True) -> list[Callback]:
        """Callbacks of the configuration in its order, then the run's own watchers."""
        facts = {
            "total": len(self.schedule),
            "folder": self.folder,
            "pool": self.pool,
            "world": self.world,
        }
        named = {section.name for section in self.config.callbacks}
        wanted = [
            (section.name, section.parameters, f"callbacks.{i}")
            for i, section in enumerate(self.config.callbacks)
        ]
        wanted += [(name, {}, name) for name in self._watchers if name not in named]
        made: list[Callback] = []
        for name, parameters, where in wanted:
            plugin = load_plugin("callback", name, base=self.base)
            if learners if plugin.target.affects_results else watchers:
                made.append(self._construct(plugin, parameters, where, {"seed": self.config.seed}, facts))
        return made

    def _skills(self) -> Mapping[str, Sequence[str]]:
        """Skills by task. Raises ConfigError where the world does not know them."""
        if self.world.skills is None:
            raise ConfigError(
                f"order = {self.config.order!r}: environment {self.config.environment.name!r} does not say "
                "which skills its tasks need"
            )
        return self.world.skills(self.environment)

    def _probed_tasks(self) -> list[Trial]:
        probes = self.config.probes
        if probes is None:
            return []
        known = list(self.environment.task_ids())
        tasks = _checked_tasks(probes.tasks, known, self.environment, "probes.tasks")
        return [Trial(task, clock=self.config.instant) for task in tasks]

    def _construct(
        self,
        plugin: Plugin,
        parameters: Mapping[str, JSON],
        where: str,
        offered: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> Any:
        return construct(
            plugin.target,
            parameters,
            where=where,
            base=self.base,
            model_for=lambda model: self._handle(f"{plugin.kind}:{plugin.name}", model),
            offered=offered,
            given=given,
        )

    def _handle(self, caller: str, model: str) -> ModelHandle:
        if model not in self.config.models:
            known = ", ".join(sorted(self.config.models))
            choices = f"choose one of: {known}" if known else f"add a [models.{model}] section"
            raise ConfigError(f"no model is named {model!r}; {choices}")
        return self.pool.caller(caller, model)

    def _identity(self) -> dict[str, JSON]:
        identity = self.config.identity()
        identity["callbacks"] = [
            section.model_dump(mode="json")
            for section in self.config.callbacks
            if load_plugin("callback", section.name, base=self.base).target.affects_results
        ]
        identity["sources"] = source_digests(flatten(identity).values(), self.base)
        identity["environment_version"] = self.environment.version
        return identity


def make_schedule(
    environment: Environment, config: RunConfig, skills: Callable[[], Mapping[str, Sequence[str]]]
) -> list[Trial]:
    """Every trial in order: all tasks, then all again for each repeat. Raises ConfigError.

    The order is made before `execution.limit` cuts it, so that a longer run continues a shorter one.
    """
    ids = _checked_tasks(config.tasks, list(environment.task_ids()), environment, "tasks")
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
