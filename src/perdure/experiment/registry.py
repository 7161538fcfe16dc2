"""Name → plugin: a module of this package, an entry point, or `file.py:Class`; loaded when asked for."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args

from perdure.core.callback import Callback, Reach
from perdure.core.errors import ConfigError, PluginNotFound
from perdure.core.world import World
from perdure.experiment.plugin_files import PluginFiles
from perdure.experiment.worlds import world_of

Kind: TypeAlias = Literal["environment", "strategy", "model", "callback", "sandbox"]

_PACKAGES: dict[Kind, str] = {
    "environment": "perdure.environments",
    "strategy": "perdure.strategies",
    "model": "perdure.models",
    "callback": "perdure.callbacks",
    "sandbox": "perdure.sandboxes",
}


@dataclass(frozen=True)
class Plugin:
    """What builds a plugin, and the module it lives in."""

    kind: Kind
    name: str
    target: Any
    module: ModuleType


@dataclass(frozen=True)
class EnvironmentPlugin(Plugin):
    """`target` is what builds the environment of `world`."""

    world: World


def load_plugin(
    kind: Kind, name: str, *, base: Path | None = None, files: PluginFiles | None = None
) -> Plugin:
    """The plugin of this name. `file.py:Class` is looked for as `resolve_path` does, and loaded by `files`.

    Raises PluginNotFound, ConfigError.
    """
    if (path := referenced_file(name, base or Path.cwd())) is not None:
        what, files = f"{kind} {name!r}", files or PluginFiles()
        target = files.load_name(name, path, what)
        return _checked(kind, name, target, files.load(path, what))
    if name in _builtin_modules(kind):
        module = importlib.import_module(f"{_PACKAGES[kind]}.{name}")
        target = _exported(kind, module)
        if target is not None:
            return _checked(kind, name, target, module)
    for entry in _entry_points(kind):
        if entry.name == name:
            return _checked(kind, name, _loaded(kind, entry), sys.modules[entry.module])
    raise PluginNotFound(kind, name, plugin_names(kind))


def load_world(name: str, *, base: Path | None = None) -> World:
    """The world of an environment of this name. Raises PluginNotFound, ConfigError."""
    plugin = load_plugin("environment", name, base=base)
    assert isinstance(plugin, EnvironmentPlugin)
    return plugin.world


def resolve_path(path: str, base: Path) -> Path:
    """A path of a configuration: beside it (`base`), or else in the current folder.

    Raises ConfigError, also for a pipe or a device: it may never end, and could not be read a second time.
    """
    try:
        expanded = Path(path).expanduser()
        beside, here = base / expanded, Path.cwd() / expanded
        found = here if here.exists() and not beside.exists() else beside
        if found.exists() and not (found.is_file() or found.is_dir()):
            raise ConfigError(f"path {path!r:.80}: it is neither a file nor a folder")
        return found
    except (OSError, RuntimeError) as error:  # a name that is too long; a home of nobody
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"path {path!r:.80}: {reason}") from error


def referenced_file(reference: str, base: Path) -> Path | None:
    """The file of `file.py:name`; None for a text that is no such reference. Raises ConfigError."""
    path, colon, _ = reference.rpartition(":")
    return resolve_path(path, base) if colon and path.endswith(".py") else None


def plugin_names(kind: Kind) -> list[str]:
    """Every name that `load_plugin` knows without a file."""
    builtin = [
        name
        for name in _builtin_modules(kind)
        if _exported(kind, importlib.import_module(f"{_PACKAGES[kind]}.{name}")) is not None
    ]
    return sorted({*builtin, *(entry.name for entry in _entry_points(kind))})


def _builtin_modules(kind: Kind) -> Iterator[str]:
    try:
        package = importlib.import_module(_PACKAGES[kind])
    except ModuleNotFoundError:
        return
    for module in iter_modules(package.__path__):
        yield module.name


def _entry_points(kind: Kind) -> Iterator[EntryPoint]:
    """Other packages register under `perdure.environments`, `perdure.callbacks`, …"""
    yield from entry_points(group=_PACKAGES[kind])


def _loaded(kind: Kind, entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{kind} {entry.name!r} ({entry.value}): {_one_line(error)}") from error


def _exported(kind: Kind, module: ModuleType) -> Any:
    """The one name that a module of this package exports as its plugin; None for a part of another one."""
    exported = vars(module)
    match kind:
        case "environment":
            return exported.get("WORLD")
        case _:
            return exported.get(kind.upper())


def _checked(kind: Kind, name: str, target: Any, module: ModuleType) -> Plugin:
    """A plugin that can be built: a concrete subclass where the contract is a class. Raises ConfigError."""
    if kind == "environment":
        world = world_of(name, target, module)
        _check_concrete(kind, name, world.environment)
        return EnvironmentPlugin(kind, name, world.environment, module, world)
    if kind == "callback":
        _check_callback(name, target)
    _check_concrete(kind, name, target)
    return Plugin(kind, name, target, module)


def _check_callback(name: str, target: Any) -> None:
    if not (isinstance(target, type) and issubclass(target, Callback)):
        raise ConfigError(f"callback {name!r} is {target!r}, not a subclass of {Callback.__name__}")
    if target.reach not in (reaches := get_args(Reach)):
        choices = ", ".join(reaches)
        raise ConfigError(f"callback {name!r}: reach = {target.reach!r}; choose one of: {choices}")


def _check_concrete(kind: Kind, name: str, target: Any) -> None:
    if inspect.isabstract(target):
        missing = ", ".join(sorted(target.__abstractmethods__))
        raise ConfigError(f"{kind} {name!r} does not define: {missing}")


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
