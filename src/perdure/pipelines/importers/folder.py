"""What an importer makes: a new folder of task files, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.core.types import JSON


@dataclass(frozen=True)
class ImportedSet:
    """The tasks of one environment: entries by task id, and how many the source published."""

    environment: str
    entries: Mapping[str, JSON]
    published: int


def write_folder(out: Path, sets: Mapping[str, ImportedSet]) -> dict[str, Path]:
    """Write each set as `<name>.json` into the folder: every file, or none. Raises ConfigError."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"--out: {str(out)!r} exists and is not an empty folder")
    try:
        part = out.parent / f".{out.name}-{os.getpid()}"
        part.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(f"--out: {str(out)!r} cannot be made: {error.strerror or error}") from error
    try:
        for name, each in sets.items():
            text = json.dumps(each.entries, ensure_ascii=False, separators=(",", ":"))
            (part / f"{name}.json").write_text(text + "\n", "utf-8")
        os.replace(part, out)
    except OSError as error:
        raise ConfigError(f"--out: {str(out)!r} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return {name: out / f"{name}.json" for name in sets}
