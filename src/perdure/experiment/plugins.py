"""Loads and builds the plug-ins that a configuration names, and says what of them the results depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.model import LanguageModel, ModelSpec
from perdure.core.pool import ModelHandle, ModelPool
from perdure.core.types import JSON
from perdure.experiment.config import RunConfig
from perdure.experiment.construct import bind, construct
from perdure.experiment.identity import Declared, Load, model_identity, run_identity
from perdure.experiment.kept_files import KeptFiles, keep_sources
from perdure.experiment.plugin_files import PluginFiles
from perdure.experiment.registry import EnvironmentPlugin, Kind, Plugin, load_plugin

__all__ = ["Load", "Plugins"]


class Plugins:
    """The plug-ins of one experiment. A file of theirs is the same for as long as this object lives.

    `base` is where relative paths start. Models are built when they are first asked, and their files are not
    needed before: `pool` has a handle for every caller.
    """

    def __init__(self, config: RunConfig, base: Path, *, asks_models: bool = True) -> None:
        self.config = config
        self.base = base
        self._files = PluginFiles()
        self._declared = Declared(base, self._files)
        environment = self.load("environment", config.environment.name)
        assert isinstance(environment, EnvironmentPlugin)
        self.world = environment.world
        self.pool = self._pool(asks_models)

    def lane(self) -> Plugins:
        """The same plug-ins and models, asked through another lane's pool."""
        other = copy(self)
        other.pool = self.pool.lane()
        return other

    def load(self, kind: Kind, name: str) -> Plugin:
        """A plug-in by name. Raises UsageError."""
        return load_plugin(kind, name, base=self.base, files=self._files)

    def construct(
        self,
        plugin: Plugin,
        parameters: Mapping[str, JSON],
        where: str,
        offered: Mapping[str, Any],
        given: Mapping[str, Any],
        *,
        caller: str,
    ) -> Any:
        """Build one; see `bind`. `caller` is its role: models that it asks are metered under that name."""
        return construct(
            plugin.target,
            parameters,
            where=where,
            base=self.base,
            files=self._files,
            model_for=lambda model: self.handle(caller, model),
            offered=offered,
            given=given,
        )

    def handle(self, caller: str, model: str) -> ModelHandle:
        """A model of the configuration for one caller. Raises ConfigError."""
        if model not in self.config.models:
            known = ", ".join(sorted(self.config.models))
            choices = f"choose one of: {known}" if known else f"add a [models.{model}] section"
            raise ConfigError(f"no model is named {model!r}; {choices}")
        return self.pool.caller(caller, model)

    def identity(self, environment_version: str) -> dict[str, JSON]:
        """What the run's results depend on. Raises UsageError for a section of a model that cannot be."""
        for name, section in self.config.models.items():
            target = self.load("model", section.provider).target
            bind(
                target,
                section.parameters,
                where=f"models.{name}",
                base=self.base,
                files=self._files,
                given={"world": self.world},
            )
        return run_identity(self.config, self.load, self._declared, environment_version)

    @contextmanager
    def sealed(self) -> Iterator[None]:
        """While this lasts nothing can be imported that is no part of the identity."""
        with self._files.sealed():
            yield

    def kept(self) -> KeptFiles:
        """The sources that the identity covers, for the run folder."""
        return keep_sources(self._declared.references, self._files)

    def _pool(self, asks_models: bool) -> ModelPool:
        cache = None
        if asks_models and self.config.execution.cache:
            from perdure.models.response_cache import ResponseCache

            cache = ResponseCache()
        specs = {
            name: ModelSpec(section.provider, dict(section.parameters))
            for name, section in self.config.models.items()
        }
        identify = self._model_identity if asks_models else lambda spec: spec.provider
        return ModelPool(specs, self._build_model, identify=identify, cache=cache)

    def _model_identity(self, spec: ModelSpec) -> str:
        return model_identity(spec.provider, spec.parameters, self.load, self.base, self._files)

    def _build_model(self, spec: ModelSpec) -> LanguageModel:
        plugin = self.load("model", spec.provider)
        model: LanguageModel = construct(
            plugin.target,
            spec.parameters,
            where=f"models ({spec.provider})",
            base=self.base,
            files=self._files,
            given={"world": self.world},
        )
        return model
