"""The only wiring: a configuration becomes an environment, an agent, callbacks, a pool and a controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from perdure.agent import Agent, ModelAgent
from perdure.callback import Callback, CallbackList
from perdure.config import RunConfig, config_hash, flatten
from perdure.construct import bind, construct
from perdure.controller import Controller, Limits, Trial
from perdure.environment import Environment
from perdure.errors import ConfigError, Divergence
from perdure.model import LanguageModel, ModelHandle, ModelPool, ModelSpec
from perdure.registry import Plugin, load_plugin, resolve_path
from perdure.run_folder import check_identity, default_folder, write_config
from perdure.scripted_agents import DoNothing, FixedResponse
from perdure.snapshot import Journal, RunStore
from perdure.sources import source_digests
from perdure.storage import line_offsets
from perdure.types import JSON, Sampling


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
        self._environment_plugin = load_plugin("environment", config.environment.name, base=self.base)
        self._normalise = self._environment_plugin.companion("normalise")
        self.limits = self._limits()
        self.pool = self._build_pool()
        self.environment = self._build_environment()
        try:
            self.schedule = make_schedule(self.environment, config)
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
            return self._oracle()
        if section.kind == "do_nothing":
            return DoNothing(self._environment_plugin.companion("DO_NOTHING"))
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
        )
        return ModelAgent(
            self._handle("agent", section.model), strategy, sampling=sampling, seed=self.config.seed
        )

    def normalise(self, observation: str) -> str:
        """An observation without what legitimately differs between two runs."""
        text: str = self._normalise(observation)
        return text

    @property
    def pending(self) -> int:
        """Sessions of the schedule that the run folder does not hold yet."""
        finished = sum(1 for _ in line_offsets(self.folder / "sessions.jsonl"))
        return max(0, len(self.schedule) - finished)

    def close(self) -> None:
        """Free the environment and the models. Idempotent."""
        self.environment.release()
        self.pool.close()

    def _attempt(self) -> Mapping[str, JSON]:
        execution = self.config.execution
        callbacks, agent = self._callbacks(), self.agent()
        if self.config.agent.kind == "model" and self.pending:
            # A model that cannot be built is told before the folder exists.
            self.pool.get(self.config.agent.model)
        with ExitStack() as stack:
            store = RunStore(self.folder, snapshot_every=execution.snapshot_every, fsync=execution.fsync)
            stack.callback(store.close)
            journal = Journal(
                self.folder / "journal.jsonl",
                on_divergence=execution.on_divergence,
                normalise=self.normalise,
            )
            stack.callback(journal.close)
            stack.callback(self._detach)
            stack.callback(callbacks.close)
            write_config(self.folder, self.config, self.identity, self.base, planned=len(self.schedule))
            controller = Controller(
                schedule=self.schedule,
                environment=self.environment,
                agent=agent,
                callbacks=callbacks,
                pool=self.pool,
                store=store,
                journal=journal,
                limits=self.limits,
            )
            try:
                return controller.run()
            except Divergence:
                journal.discard()
                raise

    def _detach(self) -> None:
        """The pool outlives an attempt; what it knows of it does not."""
        self.pool.recorder = None
        self.pool.drain_charges()

    def _limits(self) -> Limits:
        section = self.config.limits
        interactions = section.max_interactions or self._environment_plugin.companion("MAX_INTERACTIONS")
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
            bind(plugin.target, section.parameters, where=f"models.{name}", base=self.base)
            specs[name] = ModelSpec(section.provider, dict(section.parameters))
        return ModelPool(specs, self._build_model, cache=cache)

    def _build_model(self, spec: ModelSpec) -> LanguageModel:
        plugin = load_plugin("model", spec.provider, base=self.base)
        model: LanguageModel = construct(
            plugin.target, spec.parameters, where=f"models ({spec.provider})", base=self.base
        )
        return model

    def _build_environment(self) -> Environment:
        section = self.config.environment
        environment: Environment = self._construct(
            self._environment_plugin, section.parameters, "environment", self._environment_offers()
        )
        return environment

    def _environment_offers(self) -> dict[str, Any]:
        return {"seed": self.config.seed, "max_interactions": self.limits.max_interactions}

    def _strategy_offers(self) -> dict[str, Any]:
        """What the environment has for strategies that keep a state or read actions."""
        companions = {
            "state_schema": "STATE_SCHEMA",
            "action_pattern": "ACTION_PATTERN",
            "fallback_action": "NO_OP",
        }
        module = self._environment_plugin.module
        return {key: getattr(module, name) for key, name in companions.items() if hasattr(module, name)}

    def _oracle(self) -> Agent:
        agent: Agent = construct(
            self._environment_plugin.companion("build_oracle"),
            self.config.environment.parameters,
            where="environment",
            base=self.base,
            offered=self._environment_offers(),
            ignore_unknown=True,
        )
        return agent

    def _callbacks(self) -> CallbackList:
        offers = {
            "total": len(self.schedule),
            "folder": self.folder,
            "seed": self.config.seed,
            "pool": self.pool,
            "normal_form": getattr(self._environment_plugin.module, "normal_form", None),
        }
        callbacks: list[Callback] = [
            self._construct(
                load_plugin("callback", section.name, base=self.base),
                section.parameters,
                f"callbacks.{i}",
                offers,
            )
            for i, section in enumerate(self.config.callbacks)
        ]
        named = {section.name for section in self.config.callbacks}
        callbacks += [
            self._construct(load_plugin("callback", name), {}, name, offers)
            for name in self._watchers
            if name not in named
        ]
        return CallbackList(callbacks)

    def _construct(
        self, plugin: Plugin, parameters: Mapping[str, JSON], where: str, offered: Mapping[str, Any]
    ) -> Any:
        return construct(
            plugin.target,
            parameters,
            where=where,
            base=self.base,
            model_for=lambda model: self._handle(f"{plugin.kind}:{plugin.name}", model),
            offered=offered,
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


def make_schedule(environment: Environment, config: RunConfig) -> list[Trial]:
    """Every trial in order: all tasks, then all again for each repeat. Raises ConfigError."""
    known = list(environment.task_ids())
    ids = known
    if config.tasks is not None:
        unknown = [task for task in config.tasks if task not in set(known)]
        if unknown:
            some = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
            raise ConfigError(f"tasks: {environment.name!r} has no task {unknown[0]!r}; it has: {some}")
        twice = [task for task, count in Counter(config.tasks).items() if count > 1]
        if twice:
            raise ConfigError(
                f"tasks: {twice[0]!r} is there twice; execution.repeat plays tasks several times"
            )
        ids = config.tasks
    if config.execution.limit is not None:
        ids = ids[: config.execution.limit]
    return [Trial(task_id, sample) for sample in range(config.execution.repeat) for task_id in ids]
