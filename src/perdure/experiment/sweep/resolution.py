"""What the machine decides for the runs of a sweep: once, also where the sweep goes on another day."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from perdure.core.errors import PerdureError, RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import load_config
from perdure.experiment.registry import referenced_file
from perdure.experiment.surroundings import resolve_environment
from perdure.experiment.sweep.file import Sweep, SweepRun
from perdure.storage.files import replace_atomically

RESOLVED_FILE = "resolved.json"


def resolve_runs(sweep: Sweep, runs: Iterable[SweepRun]) -> list[SweepRun]:
    """The runs with resolved environments, kept in the sweep's folder. Raises RunFolderError, StorageError.

    A run whose environment cannot be resolved stays as it is: carrying it out says why. So does one of a
    `file.py:Class`, which its own process resolves.
    """
    path = sweep.out / RESOLVED_FILE
    kept = _read(path)
    before = len(kept)
    resolved = [_resolve(run, sweep.base, kept) for run in runs]
    if len(kept) > before:
        replace_atomically(path, json.dumps({"v": 1, "environments": kept}))
    return resolved


def _resolve(run: SweepRun, base: Path, kept: dict[str, JSON]) -> SweepRun:
    section = load_config(run.config).environment
    if referenced_file(section.name, base) is not None:
        return run  # its code is for the run's own process: it may end whatever process loads it
    key = json.dumps(section.model_dump(mode="json"), sort_keys=True)
    if key not in kept:
        try:
            resolved = resolve_environment(section, base)
        except PerdureError:
            return run
        if resolved == section:
            return run
        kept[key] = resolved.model_dump(mode="json")
    return SweepRun(run.label, {**run.config, "environment": kept[key]}, run.folder)


def _read(path: Path) -> dict[str, JSON]:
    """Environment as it was written → as it was resolved."""
    try:
        return dict(json.loads(path.read_text("utf-8"))["environments"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error}") from error
