"""The sources that can be imported: a name, and the module that reads it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from perdure.core.errors import ConfigError
from perdure.pipelines.importers.folder import ImportedSet

SOURCES = {"lifelongagentbench": "perdure.pipelines.importers.lifelongagentbench"}

Reader = Callable[[Path], dict[str, ImportedSet]]


def reader_of(kind: str) -> Reader:
    """The function that reads a source by its name. Raises ConfigError with the valid ones."""
    if kind not in SOURCES:
        raise ConfigError(f"data set: there is no {kind!r}; valid: {', '.join(sorted(SOURCES))}")
    return cast(Reader, import_module(SOURCES[kind]).read_sets)
