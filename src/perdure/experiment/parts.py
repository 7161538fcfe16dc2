"""Builds what one lane consists of, as the configuration says: an environment, an agent, callbacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from perdure.core.agent import Agent, ModelAgent
from perdure.core.callback import Callback
from perdure.core.controller import Limits
from perdure.core.environment import Environment
from perdure.core.errors import ConfigError
from perdure.core.plain_json import short_repr
from perdure.core.types import Sampling
from perdure.core.well_formed import well_formed
from perdure.experiment.callbacks import CallbackPart
from perdure.experiment.plugins import Plugins
from perdure.experiment.registry import resolve_path
from perdure.experiment.rules import rules_of
from perdure.experiment.scripted_agents import DoNothing, FixedResponse
from perdure.strategies.reply_example import split_example

_QUOTED = re.compile("`([^`\n]+)`")
"""An action in the words that say how one is written: the first is the example."""

ENVIRONMENT = "environment"
"""The caller of models that an environment asks."""


class Parts:
    """Builds parts whose models are asked through one lane's pool. `limits` are those of every task."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self.pool = plugins.pool
        self.world = plugins.world
        self._config = plugins.config
        section = self._config.limits
        interactions = section.max_interactions or self.world.max_interactions
        self.limits = Limits(
            max_interactions=interactions,
            max_turns=section.max_turns or 4 * interactions,
            max_seconds=section.max_seconds,
            ask_beyond_limit=self._asks_beyond_limit(),
        )

    def _asks_beyond_limit(self) -> bool:
        """As configured; else as the original, where the environment is as published."""
        asked = self._config.limits.ask_beyond_limit
        return asked if asked is not None else self._config.environment.parameters.get("compat") == "paper"

    def lane(self) -> Parts:
        """The same for another lane."""
        return Parts(self.plugins.lane())

    def environment(self) -> Environment:
        """A fresh environment. Raises UsageError, InfrastructureError."""
        section = self._config.environment
        environment: Environment = self.plugins.construct(
            self.plugins.load("environment", section.name),
            section.parameters,
            "environment",
            {"seed": self._config.seed},
            {"max_interactions": self.limits.max_interactions},
            caller=ENVIRONMENT,
        )
        for fact in ("version", "instructions"):
            given = getattr(environment, fact, None)
            if not isinstance(given, str) or well_formed(given) != given:
                told = f"environment {section.name!r}: its {fact} is {short_repr(given)}"
                raise ConfigError(f"{told}; give it a text")
        return environment

    def agent(self, environment: Environment) -> Agent:
        """A fresh agent for an environment. Raises UsageError."""
        section = self._config.agent
        if section.kind == "oracle":
            if self.world.oracle is None:
                raise ConfigError(f"environment {self._config.environment.name!r} has no oracle")
            return self.world.oracle(environment)
        if section.kind == "do_nothing":
            return DoNothing(self.world.do_nothing)
        if section.kind == "fixed_response":
            if section.run is None:
                raise ConfigError("agent.run: missing; it names the run folder whose replies are replayed")
            return FixedResponse(resolve_path(section.run, self.plugins.base))
        return self._model_agent(environment)

    def callbacks(self, parts: Iterable[CallbackPart], facts: Mapping[str, Any]) -> list[Callback]:
        """Fresh callbacks. Raises UsageError."""
        given = {"pool": self.pool, "world": self.world, **facts}
        return [part.build(self.plugins, {"seed": self._config.seed}, given) for part in parts]

    def _model_agent(self, environment: Environment) -> ModelAgent:
        section = self._config.agent
        sampling = Sampling(**{**section.sampling.model_dump(), "stop": tuple(section.sampling.stop)})
        strategy = self.plugins.construct(
            self.plugins.load("strategy", section.strategy.name),
            section.strategy.parameters,
            "agent.strategy",
            {"model": self.plugins.handle("strategy", section.model), **self._strategy_offers(environment)},
            {"world": self.world, "read_action": environment.read_action},
            caller="strategy",
        )
        rules = rules_of(self._config, strategy)
        support = self.world.state(environment) if self.world.state is not None else None
        return ModelAgent(
            self.plugins.handle("agent", section.model),
            strategy,
            instructions=environment.instructions,
            sampling=sampling,
            seed=self._config.seed,
            retries=rules.retries,
            read_action=environment.read_action,
            no_op=support.no_op if support is not None and rules.takes_no_op else None,
        )

    def _strategy_offers(self, environment: Environment) -> dict[str, Any]:
        """What the world has for strategies that keep a state or read actions."""
        form, example = split_example(self.world.reply_form(environment))
        sections = (self._config.environment, self._config.agent.strategy)
        published = all(section.parameters.get("compat") == "paper" for section in sections)
        offers = {"acknowledged": published, "action_form": f"written so:\n{form}", "action_example": example}
        if self.world.state is None:
            return offers
        support = self.world.state(environment)
        quoted = _QUOTED.search(support.action_form)
        return {
            **offers,
            "state_schema": support.schema,
            "action_pattern": support.action_pattern,
            "action_form": support.action_form,
            "action_example": quoted[1] if quoted else example,
        }
