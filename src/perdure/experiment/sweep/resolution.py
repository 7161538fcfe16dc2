"""What the machine decides for the runs of a sweep: once, also where the sweep goes on another day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perdure.core.errors import PerdureError, RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import PluginSection, load_config
from perdure.experiment.registry import referenced_file
from perdure.experiment.surroundings import resolve_environment
from perdure.experiment.sweep.file import Sweep, SweepRun
from perdure.experiment.sweep.resolver import ask_resolver
from perdure.storage.files import replace_atomically

RESOLVED_FILE = "resolved.json"


def resolve_runs(sweep: Sweep, runs: Sequence[SweepRun]) -> list[SweepRun]:
    """The runs with resolved environments, kept in the sweep's folder. Raises RunFolderError, StorageError.

    A run whose environment cannot be resolved stays as it is: carrying it out says why. Code of a
    `file.py:Class` is run in another process, for it may end whatever process loads it.
    """
    path = sweep.out / RESOLVED_FILE
    kept = _read(path)
    sections = [load_config(run.config).environment for run in runs]
    asked = {key: section for section in sections if (key := _key(section)) not in kept}
    in_files = {key: s for key, s in asked.items() if referenced_file(s.name, sweep.base) is not None}
    found = {key: _resolved(section, sweep.base) for key, section in asked.items() if key not in in_files}
    answers = ask_resolver([s.model_dump(mode="json") for s in in_files.values()], sweep.base)
    found |= dict(zip(in_files, answers, strict=True))
    decided = {key: answer for key, answer in found.items() if answer not in (None, json.loads(key))}
    if decided:
        kept |= decided
        replace_atomically(path, json.dumps({"v": 1, "environments": kept}))
    return [
        replace(run, config={**run.config, "environment": kept[key]}) if (key := _key(s)) in kept else run
        for run, s in zip(runs, sections, strict=True)
    ]


def _key(section: PluginSection) -> str:
    return json.dumps(section.model_dump(mode="json"), sort_keys=True)


def _resolved(section: PluginSection, base: Path) -> JSON:
    try:
        return resolve_environment(section, base).model_dump(mode="json")
    except PerdureError:
        return None


def _read(path: Path) -> dict[str, JSON]:
    """Environment as it was written → as it was resolved."""
    try:
        return dict(json.loads(path.read_text("utf-8"))["environments"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error}") from error
