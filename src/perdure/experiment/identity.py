"""What makes two runs the same: everything that is not declared to be operational, and what was read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from perdure.core.callback import label_of
from perdure.core.parameters import Operational
from perdure.core.types import JSON
from perdure.experiment.config import RunConfig
from perdure.experiment.construct import declared_types, is_marked, takes
from perdure.experiment.file_digests import digest_of
from perdure.experiment.plugin_files import PluginFiles
from perdure.experiment.registry import Kind, Plugin, referenced_file, resolve_path

Load = Callable[[Kind, str], Plugin]
_DIGITS = 16


@dataclass(frozen=True)
class Reference:
    """A value of a configuration that names a file: its dotted key, the file, the name of `file.py:name`."""

    key: str
    path: Path
    name: str = ""


@dataclass
class Declared:
    """What sections of a configuration contribute to an identity, filled as they are asked about.

    A path counts by its last part and its content, `file.py:name` by its sources; neither by where it lies: a
    run may be moved.
    """

    base: Path
    files: PluginFiles
    sources: dict[str, dict[str, str]] = field(default_factory=dict)
    """Part of the run → file of its plug-in folder → digest."""
    data: dict[str, str] = field(default_factory=dict)
    """Parameter that is a path → digest of what lies there."""
    references: list[Reference] = field(default_factory=list)
    """Every file and folder of them, by its key in the configuration."""

    def plugin(
        self, part: str, name: str, plugin: Plugin, parameters: Mapping[str, JSON], *, key: str = ""
    ) -> dict[str, JSON]:
        """The name and the parameters that change results. `key`: the section, where it is not `part`.

        Raises ConfigError.
        """
        key = key or part
        name_key = "provider" if plugin.kind == "model" else "name"
        hints = declared_types(plugin.target, key)
        return {
            name_key: self._text(name, Any, part, f"{key}.{name_key}"),
            **{
                name: self.value(value, hints.get(name, Any), f"{part}.{name}", f"{key}.{name}")
                for name, value in parameters.items()
                if not is_marked(hints.get(name, Any), Operational)
            },
        }

    def value(self, value: JSON, hint: Any, part: str, key: str) -> JSON:
        """A value without where its files lie."""
        if isinstance(value, str):
            return self._text(value, hint, part, key)
        if isinstance(value, list):
            return [self.value(item, Any, f"{part}.{i}", f"{key}.{i}") for i, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {k: self.value(item, Any, f"{part}.{k}", f"{key}.{k}") for k, item in value.items()}
        return value

    def _text(self, value: str, hint: Any, part: str, key: str) -> str:
        file = referenced_file(value, self.base)
        if file is not None and file.is_file():
            found = self.files.sources(file)
            self.sources[part] = {name: _digest(content) for name, content in found.items()}
            name = value.rpartition(":")[2]
            self.references.append(Reference(key, file, name))
            return f"{file.name}:{name}"
        if takes(hint, Path) and (path := resolve_path(value, self.base)).exists():
            self.data[part] = digest_of(path)
            self.references.append(Reference(key, path))
            return path.name
        return value


def run_identity(config: RunConfig, load: Load, declared: Declared, version: str) -> dict[str, JSON]:
    """What changes a run's results, as plain data. Raises UsageError.

    What an agent without a model does not use, callbacks that only watch, prices and operational parameters
    are left out. `version` is that of the environment.
    """
    plain = config.model_dump(
        mode="json", exclude={"execution", "environment", "agent", "models", "callbacks"}, exclude_none=True
    )
    environment = config.environment
    found = load("environment", environment.name)
    return {
        **plain,
        "environment": declared.plugin("environment", environment.name, found, environment.parameters),
        "agent": _agent(config, load, declared),
        "models": {
            name: declared.plugin(
                f"models.{name}", section.provider, load("model", section.provider), section.parameters
            )
            for name, section in config.models.items()
        },
        "callbacks": _callbacks(config, load, declared),
        "environment_version": version,
        "sources": declared.sources,
        "data": declared.data,
    }


def model_identity(
    provider: str, parameters: Mapping[str, JSON], load: Load, base: Path, files: PluginFiles
) -> str:
    """What a model's replies depend on, as canonical JSON: part of its requests' digests and cache keys."""
    declared = Declared(base, files)
    section = declared.plugin("model", provider, load("model", provider), parameters)
    return json.dumps([section, declared.sources, declared.data], sort_keys=True)


def _agent(config: RunConfig, load: Load, declared: Declared) -> dict[str, JSON]:
    section = config.agent
    agent: dict[str, JSON] = {"kind": section.kind}
    if section.run is not None:
        agent["run"] = declared.value(section.run, Path, "agent.run", "agent.run")
    if section.kind != "model":
        return agent
    strategy = section.strategy
    found = load("strategy", strategy.name)
    return {
        **section.model_dump(mode="json", exclude_none=True),
        **agent,
        "strategy": declared.plugin("agent.strategy", strategy.name, found, strategy.parameters),
    }


def _callbacks(config: RunConfig, load: Load, declared: Declared) -> list[JSON]:
    entries = []
    for number, section in enumerate(config.callbacks):
        found = load("callback", section.name)
        if found.target.reach == "watch":
            continue
        label = {"label": section.label} if section.label else {}
        part = f"callbacks.{section.label or label_of(found.target)}"
        parameters = section.parameters
        entry = declared.plugin(part, section.name, found, parameters, key=f"callbacks.{number}")
        entries.append({**entry, **label})
    return entries


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:_DIGITS]
