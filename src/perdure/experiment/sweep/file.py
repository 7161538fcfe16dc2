"""A sweep file: a base configuration, a grid of changes, named cases; each combination is one run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.experiment.config import check_plain, explain, load_config, read_toml, set_key

MAX_RUNS = 100_000
"""Runs of one sweep."""

Change = tuple[str, JSON]
"""A dotted key and its value. A table as a value takes the place of the whole section."""


class Case(BaseModel):
    """A named change that is no part of the grid; every case is combined with the whole grid."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: str = Field(min_length=1)
    set: dict[str, JSON] = {}


class SweepConfig(BaseModel):
    """Everything about a sweep."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: str = Field(default="sweep", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    base: str | dict[str, JSON]
    """A run's configuration: a file beside this one, or the table itself."""
    out: str | None = Field(default=None, pattern=r"^[^\x00]*$")
    """Folder of the run folders; `runs/<name>` by default."""
    grid: dict[str, JSON] = {}
    """Dotted key → list of values: every combination is run."""
    cases: list[Case] = []
    match: str = "structured_state"
    """The arm whose mean prompt is the budget of arms with `budget_tokens = "match"`."""


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: its label in tables, its configuration, its folder."""

    label: str
    config: Mapping[str, JSON]
    folder: Path


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep in order. `base` is where relative paths of the configuration start."""

    name: str
    out: Path
    base: Path
    runs: tuple[SweepRun, ...]
    match: str = ""


def load_sweep(path: Path, *, out: Path | None = None) -> Sweep:
    """Read a sweep file and check every run of it. Raises ConfigError: one line, nothing was started."""
    config = _read(path)
    base_folder, base = _base(config, path)
    folder = out or Path(config.out or Path("runs") / config.name)
    combinations = list(_combinations(config))
    labels = _labels([changes for _, changes in combinations])
    runs: dict[Path, SweepRun] = {}
    for (case, changes), label in zip(combinations, labels, strict=True):
        name = ", ".join(part for part in (case.name, label) if part) or config.name
        data = deepcopy(base)
        for key, value in [*_leaves(case.set), *changes]:
            set_key(data, key, value)
        data.setdefault("name", config.name)
        try:
            load_config(data)
        except ConfigError as error:
            raise ConfigError(f"{path}: run {name!r}: {error}") from error
        run = SweepRun(name, data, folder / _folder_name(name, data))
        if run.folder in runs:
            raise ConfigError(f"{path}: the run {name!r} is there twice")
        runs[run.folder] = run
    return Sweep(config.name, folder, base_folder, tuple(runs.values()), config.match)


def _read(path: Path) -> SweepConfig:
    data = read_toml(path, "sweep file")
    check_plain(data)
    try:
        return SweepConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, SweepConfig)}") from error


def _base(config: SweepConfig, path: Path) -> tuple[Path, dict[str, JSON]]:
    if not isinstance(config.base, str):
        return path.resolve().parent, config.base
    file = path.resolve().parent / config.base
    try:
        base = read_toml(file)
    except ConfigError as error:
        raise ConfigError(f"{path}: base: {error}") from error
    check_plain(base)
    return file.parent, base


def _combinations(config: SweepConfig) -> Iterator[tuple[Case, list[Change]]]:
    """Cases times grid, the changes being those of the grid."""
    axes = [[(key, value) for value in values] for key, values in _axes(config.grid)]
    count = prod(map(len, axes)) * max(1, len(config.cases))
    if count > MAX_RUNS:
        raise ConfigError(f"grid: {count:,} runs; a sweep has at most {MAX_RUNS:,}")
    for case in config.cases or [Case.model_construct(name="")]:
        for combination in product(*axes):
            yield case, list(combination)


def _axes(grid: Mapping[str, JSON]) -> Iterator[tuple[str, list[JSON]]]:
    for key, values in _leaves(grid):
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid.{key}: expected a list of values, got {values!r}")
        yield key, values


def _leaves(table: Mapping[str, JSON], prefix: str = "") -> Iterator[Change]:
    """Dotted keys: `a.b = 1` is a change of b alone, `"a.b" = {…}` puts a table in the place of another."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and "." not in key:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _labels(runs: Sequence[Sequence[Change]]) -> list[str]:
    """What tells the runs apart, as short as it may be."""
    varying = [
        key
        for key in dict.fromkeys(key for changes in runs for key, _ in changes)
        if len({json.dumps(dict(changes).get(key), sort_keys=True) for changes in runs}) > 1
    ]
    lasts = [key.rpartition(".")[2] for key in varying]
    names = {key: last if lasts.count(last) == 1 else key for key, last in zip(varying, lasts, strict=True)}
    return [", ".join(_told(names[key], value) for key, value in changes if key in names) for changes in runs]


def _told(key: str, value: JSON) -> str:
    if isinstance(value, Mapping) and "name" in value:
        others = " ".join(f"{inner}={value[inner]}" for inner in value if inner != "name")
        return f"{value['name']} {others}".strip()
    return f"{key}={value}"


def _folder_name(label: str, data: Mapping[str, JSON]) -> str:
    """Readable, and different for whatever changes results."""
    results = {key: value for key, value in data.items() if key != "execution"}
    digest = sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9._=-]+", "-", label).strip("-")[:80]
    return f"{slug}-{digest}"
