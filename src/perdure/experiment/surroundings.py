"""What the machine decides for a run: parameters that a configuration leaves open, and what it stands on.

`World.resolve_parameters` and `World.surroundings` answer; each takes the parameters that it names. What the
first says takes the place of what is written before anything else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from perdure.core.errors import RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import PluginSection, RunConfig, flatten
from perdure.experiment.construct import construct
from perdure.experiment.registry import load_world
from perdure.experiment.run_folder import CONFIG_FILE, read_config
from perdure.storage.files import line_offsets, read_sealed, replace_atomically, seal

SURROUNDINGS_FILE = "surroundings.json"

Facts = Mapping[str, str]


def resolve_environment(section: PluginSection, base: Path) -> PluginSection:
    """The environment's section with everything that this machine decides. Raises UsageError."""
    return section.model_copy(update=dict(_resolved(section, base)))


def resolve_config(config: RunConfig, base: Path) -> RunConfig:
    """The configuration with everything that this machine decides. Raises UsageError."""
    return config.model_copy(update={"environment": resolve_environment(config.environment, base)})


def record_surroundings(folder: Path, config: RunConfig, base: Path) -> None:
    """Keep what the run stands on, where that is not the newest record. Raises InfrastructureError."""
    now, seen = _surroundings(config, base), read_surroundings(folder)
    if now and (not seen or seen[-1] != now):
        replace_atomically(folder / SURROUNDINGS_FILE, seal({"v": 1, "seen": [*seen, now]}) + "\n")


def read_surroundings(folder: Path) -> list[Facts]:
    """Everything that a run was played on, oldest first. Raises RunFolderError."""
    path = folder / SURROUNDINGS_FILE
    body = read_sealed(path)
    try:
        return [] if body is None else [dict(facts) for facts in body["seen"]]
    except (ValueError, TypeError, KeyError) as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error}") from error


def remarks(config: RunConfig, identity: Mapping[str, JSON], folder: Path, base: Path) -> list[str]:
    """What a user should know before a resolved configuration is run: one line each."""
    return [*_changes(config, folder, base), *_unfinished_elsewhere(config, identity, folder, base)]


def apart_line(runs: Mapping[str, Sequence[Facts]]) -> str:
    """What sets apart the surroundings of runs (name → all they were played on), or nothing.

    The first fact that differs is told alone: others follow from it.
    """
    for key in dict.fromkeys(key for facts in runs.values() for one in facts for key in one):
        names: dict[tuple[str, ...], list[str]] = {}
        for name, facts in runs.items():
            names.setdefault(tuple(dict.fromkeys(one.get(key, "?") for one in facts)), []).append(name)
        if len(names) > 1:
            told = [f"{', '.join(values) or '?'}: {', '.join(members)}" for values, members in names.items()]
            return f"the runs do not stand on the same {key} ({'; '.join(told)})"
    return ""


def _surroundings(config: RunConfig, base: Path) -> Facts:
    section = config.environment
    facts = _ask(load_world(section.name, base=base).surroundings, section, base)
    return {key: str(value) for key, value in facts.items()}


def _changes(config: RunConfig, folder: Path, base: Path) -> list[str]:
    seen = read_surroundings(folder)
    if not seen:
        return []
    before, now = seen[-1], _surroundings(config, base)
    changed = [
        f"{key} {before.get(key)!r} → {now.get(key)!r}"
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key)
    ]
    return [f"since {str(folder)!r} was begun this has changed: {', '.join(changed)}"] if changed else []


def _unfinished_elsewhere(
    config: RunConfig, identity: Mapping[str, JSON], folder: Path, base: Path
) -> list[str]:
    """Unfinished runs beside `folder` that differ in nothing but what a machine decided."""
    decided = [f"environment.{key}" for key in _resolved(config.environment, base)]
    lines = []
    for path in sorted(folder.parent.glob(f"{config.name}-*/{CONFIG_FILE}")) if decided else []:
        other = path.parent
        try:
            _, recorded = read_config(other)
        except RunFolderError:
            continue
        there, here = flatten(recorded["identity"]), flatten(identity)
        differing = {key for key in {*there, *here} if there.get(key) != here.get(key)}
        finished, planned = sum(1 for _ in line_offsets(other / "sessions.jsonl")), recorded["planned"]
        if differing and differing <= set(decided) and finished < planned:
            sets = " ".join(f"--set {key}={there.get(key)}" for key in sorted(differing))
            lines.append(f"{str(other)!r} holds {finished}/{planned} sessions of this: {sets} continues it")
    return lines


def _resolved(section: PluginSection, base: Path) -> Mapping[str, JSON]:
    return _ask(load_world(section.name, base=base).resolve_parameters, section, base)


def _ask(
    function: Callable[..., Mapping[str, Any]] | None, section: PluginSection, base: Path
) -> Mapping[str, Any]:
    """What the world's function says; nothing where it has none."""
    if function is None:
        return {}
    named = signature(function).parameters
    parameters = {key: value for key, value in section.parameters.items() if key in named}
    answer: Mapping[str, Any] = construct(function, parameters, where="environment", base=base)
    return answer
