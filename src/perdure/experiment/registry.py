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
from typing import Any, Literal, TypeAlias

from perdure.core.callback import Callback
from perdure.core.environment import Environment
from perdure.core.errors import ConfigError, PluginNotFound
from perdure.core.python_file import load_python_file

Kind: TypeAlias = Literal["environment", "strategy", "model", "callback", "sandbox"]

_PACKAGES: dict[Kind, str] = {
    "environment": "perdure.environments",
    "strategy": "perdure.strategies",
    "model": "perdure.models",
    "callback": "perdure.callbacks",
    "sandbox": "perdure.sandboxes",
}

_CONTRACTS: dict[Kind, type] = {"environment": Environment, "callback": Callback}


@dataclass(frozen=True)
class Plugin:
    """A class and the module it lives in, which may offer companions (an oracle, a normal form, …)."""

    kind: Kind
    name: str
    target: Any
    module: ModuleType

    def companion(self, name: str) -> Any:
        """A name beside the class. Raises ConfigError when the module does not offer it."""
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise ConfigError(f"{self.kind} {self.name!r} has no {name!r} beside its class") from None


def load_plugin(kind: Kind, name: str, *, base: Path | None = None) -> Plugin:
    """The plugin of this name. `file.py:Class` is looked for as `resolve_path` does.

    Raises PluginNotFound, ConfigError.
    """
    path, colon, class_name = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_file(kind, name, resolve_path(path, base or Path.cwd()), class_name)
    if name in _builtin_modules(kind):
        module = importlib.import_module(f"{_PACKAGES[kind]}.{name}")
        target = getattr(module, kind.upper(), None)
        if target is not None:
            return _checked(Plugin(kind, name, target, module))
    for entry in _entry_points(kind):
        if entry.name == name:
            return _checked(Plugin(kind, name, _loaded(kind, entry), sys.modules[entry.module]))
    raise PluginNotFound(kind, name, plugin_names(kind))


def resolve_path(path: str, base: Path) -> Path:
    """A path of a configuration: beside it (`base`), or else in the current folder. Raises ConfigError."""
    try:
        expanded = Path(path).expanduser()
        beside, here = base / expanded, Path.cwd() / expanded
        return here if here.exists() and not beside.exists() else beside
    except (OSError, RuntimeError) as error:  # a name that is too long; a home of nobody
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"path {path!r:.80}: {reason}") from error


def plugin_names(kind: Kind) -> list[str]:
    """Every name that `load_plugin` knows without a file."""
    builtin = [
        name
        for name in _builtin_modules(kind)
        if hasattr(importlib.import_module(f"{_PACKAGES[kind]}.{name}"), kind.upper())
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


def _from_file(kind: Kind, name: str, path: Path, class_name: str) -> Plugin:
    module = load_python_file(path, f"{kind} {name!r}")
    if not hasattr(module, class_name):
        classes = sorted(
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        )
        raise ConfigError(
            f"{kind} {name!r}: no class {class_name!r} in {path.name}; it has: {', '.join(classes) or 'none'}"
        )
    return _checked(Plugin(kind, name, getattr(module, class_name), module))


def _loaded(kind: Kind, entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{kind} {entry.name!r} ({entry.value}): {_one_line(error)}") from error


def _checked(plugin: Plugin) -> Plugin:
    """Where the contract is a class, the plugin must be a subclass of it. Raises ConfigError."""
    contract = _CONTRACTS.get(plugin.kind)
    target = plugin.target
    if contract is not None and not (isinstance(target, type) and issubclass(target, contract)):
        raise ConfigError(
            f"{plugin.kind} {plugin.name!r} is {target!r}, not a subclass of {contract.__name__}"
        )
    if inspect.isabstract(target):
        missing = ", ".join(sorted(target.__abstractmethods__))
        raise ConfigError(f"{plugin.kind} {plugin.name!r} does not define: {missing}")
    return plugin


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
