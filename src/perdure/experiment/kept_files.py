"""Copies of the code and the data of a run inside its folder, so that it can be played again elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perdure.experiment.identity import Reference
from perdure.experiment.plugin_files import PluginFiles

PLUGINS = "plugins"
DATA = "data"


@dataclass(frozen=True)
class KeptFiles:
    """What a run folder keeps of the files that its configuration names."""

    values: dict[str, str] = field(default_factory=dict)
    """Dotted key of the configuration → path within the run folder, with the `:name` of `file.py:name`."""
    contents: dict[str, bytes] = field(default_factory=dict)
    """Path within the run folder → content."""


def keep_sources(references: Iterable[Reference], files: PluginFiles) -> KeptFiles:
    """Every plug-in with what it imports, in `plugins/<name of its folder>/`."""
    kept, places = KeptFiles(), _Places(PLUGINS)
    for reference in references:
        if reference.name:
            file = reference.path.resolve()
            place = places.of(file.parent)
            kept.values[reference.key] = f"{place}/{file.name}:{reference.name}"
            sources = files.sources(file)
            kept.contents.update({f"{place}/{name}": content for name, content in sources.items()})
    return kept


def keep_data(references: Iterable[Reference]) -> KeptFiles:
    """Every file that a parameter names, and the files of every folder, in `data/`. Raises OSError."""
    kept, places = KeptFiles(), _Places(DATA)
    for reference in references:
        if not reference.name:
            path = reference.path.resolve()
            place = places.of(path)
            kept.values[reference.key] = place
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            for file in files:
                if file.is_file():
                    inside = "" if file == path else f"/{file.relative_to(path).as_posix()}"
                    kept.contents[f"{place}{inside}"] = file.read_bytes()
    return kept


class _Places:
    """A place of its own below `root` for every path, named like the path's last part."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._found: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        if path not in self._found:
            taken, name, number = set(self._found.values()), path.name or "root", 1
            place = f"{self._root}/{name}"
            while place in taken:
                number += 1
                place = f"{self._root}/{number}-{name}"
            self._found[path] = place
        return self._found[path]
