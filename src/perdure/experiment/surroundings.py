"""What the machine decides for a run: parameters that a configuration leaves open, and what it stands on.

An environment may offer two functions beside its class, which take those of its parameters that they name:

- `resolve_parameters(...) -> {name: value}`: parameters such as `root = "auto"`, as they are meant on this
  machine. They take the place of the written ones before anything else is read, so that they are part of the
  run's identity.
- `surroundings(...) -> {name: text}`: facts that are not part of the identity, such as the state of the
  installed programs. They are recorded with the run; that they have changed is told, not refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perdure.core.errors import RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import PluginSection, RunConfig, flatten
from perdure.experiment.construct import construct
from perdure.experiment.registry import load_plugin
from perdure.experiment.run_folder import CONFIG_FILE, read_config
from perdure.storage.files import line_offsets

Facts = Mapping[str, str]


def resolve_config(config: RunConfig, base: Path) -> RunConfig:
    """The configuration with everything that this machine decides. Raises UsageError."""
    section = config.environment
    decided = _ask(section, "resolve_parameters", base)
    if not decided:
        return config
    environment = section.model_copy(update={"parameters": {**section.parameters, **decided}})
    return config.model_copy(update={"environment": environment})


def surroundings_of(config: RunConfig, base: Path) -> Facts:
    """What a run of this configuration stands on here; empty where its environment says nothing."""
    return {key: str(value) for key, value in _ask(config.environment, "surroundings", base).items()}


def changes_line(recorded: Sequence[Facts], now: Facts) -> str:
    """What differs from the newest record, in one line, or nothing."""
    if not recorded or recorded[-1] == now:
        return ""
    before = recorded[-1]
    changed = [
        f"{key}: {before.get(key)!r} → {now.get(key)!r}"
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key)
    ]
    return f"the run goes on in surroundings that have changed: {'; '.join(changed)}"


def unfinished_elsewhere(
    config: RunConfig, identity: Mapping[str, JSON], decided: Mapping[str, JSON], folder: Path
) -> list[str]:
    """One line for each unfinished run beside `folder` that differs only in what a machine decided."""
    keys = {f"environment.parameters.{key}" for key in decided}
    here = _without(identity, keys)
    lines = []
    for path in sorted(folder.parent.glob(f"{config.name}-*/{CONFIG_FILE}")):
        other = path.parent
        try:
            _, recorded = read_config(other)
        except RunFolderError:
            continue
        finished = sum(1 for _ in line_offsets(other / "sessions.jsonl"))
        if other == folder or finished >= recorded["planned"] or _without(recorded["identity"], keys) != here:
            continue
        there = flatten(recorded["identity"])
        sets = " ".join(f"--set {key}={there[key]}" for key in sorted(keys) if key in there)
        lines.append(
            f"{str(other)!r} holds {finished} of {recorded['planned']} sessions of the same configuration; "
            f"{sets} continues it"
        )
    return lines


def apart_line(runs: Mapping[str, Sequence[Facts]]) -> str:
    """What sets apart the surroundings of runs (name → everything they were played on), or nothing.

    The first fact that differs is told alone: others follow from it.
    """
    for key in dict.fromkeys(key for facts in runs.values() for one in facts for key in one):
        values: dict[tuple[str, ...], list[str]] = {}
        for name, facts in runs.items():
            values.setdefault(tuple(dict.fromkeys(one.get(key, "?") for one in facts)), []).append(name)
        if len(values) > 1:
            told = [f"{', '.join(value) or '?'} ({', '.join(names)})" for value, names in values.items()]
            return f"the runs do not stand on the same {key}: {'; '.join(told)}"
    return ""


def _ask(section: PluginSection, companion: str, base: Path) -> Mapping[str, JSON]:
    plugin = load_plugin("environment", section.name, base=base)
    function = getattr(plugin.module, companion, None)
    if function is None:
        return {}
    answer: Mapping[str, JSON] = construct(
        function, section.parameters, where="environment", base=base, ignore_unknown=True
    )
    return answer


def _without(identity: Mapping[str, JSON], keys: set[str]) -> dict[str, JSON]:
    return {key: value for key, value in flatten(identity).items() if key not in keys}
