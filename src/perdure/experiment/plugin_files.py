"""Loads `file.py:Name`: each folder of plug-ins is a private package, run from bytes that are kept.

What lies beside a plug-in is imported as a script does it (`import helper`) or relatively. Such modules are
known to Python under the name of their private package alone, so that two projects have a `helper` each, and
an edited one is loaded anew. The standard library, perdure and installed packages win over its files.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import spec_from_file_location
from itertools import count
from pathlib import Path
from threading import RLock, local
from types import ModuleType
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.plain_json import error_line
from perdure.core.world import World
from perdure.experiment.plugin_imports import PluginImports

_PREFIX = "perdure_plugins_"
_DOT = "%2e"
"""Stands for a dot within the name of a file: `world.v2.py` is no package."""


class PluginFiles:
    """The plug-in folders of one experiment, each as it was when the experiment first used it."""

    def __init__(self) -> None:
        self._packages: dict[Path, PluginPackage] = {}

    def load(self, path: Path, what: str) -> ModuleType:
        """The module that a file defines; `what` says in errors who wants it. Raises ConfigError."""
        if not path.is_file():
            raise ConfigError(f"{what}: there is no file {str(path)!r}")
        name = self._package(path).let_in(path.resolve().name)
        try:
            return importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise ConfigError(f"{what}: {type(error).__name__}: {error_line(error)}") from error

    def load_name(self, reference: str, path: Path, what: str) -> Any:
        """What stands under the name of `file.py:Name`, whose file is at `path`. Raises ConfigError."""
        name = reference.rpartition(":")[2]
        module = self.load(path, what)
        defined = vars(module)
        if name not in defined:
            own = (key for key, value in defined.items() if _is_of(value, module))
            raise ConfigError(
                f"{what}: no {name!r} in {path.name}; it has: {', '.join(sorted(own)) or 'none'}"
            )
        return defined[name]

    def sources(self, path: Path) -> dict[str, bytes]:
        """The file and everything of its folder that it imports, by path within the folder, as it is run."""
        return self._package(path).closure(path.resolve().name)

    @contextmanager
    def sealed(self) -> Iterator[None]:
        """While this lasts a file of these folders that is new to them cannot be imported: ConfigError."""
        packages = list(self._packages.values())
        for package in packages:
            package.seals += 1
        try:
            yield
        finally:
            for package in packages:
                package.seals -= 1

    def _package(self, path: Path) -> PluginPackage:
        folder = path.resolve().parent
        if folder not in self._packages:
            self._packages[folder] = _package_of(folder)
        return self._packages[folder]


class PluginPackage:
    """One folder at one time: a file is read once, and run from what was read."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.seals = 0
        """Runs under way that this package is part of."""
        self._imports = PluginImports(folder, name)
        self._read: dict[str, bytes] = {}
        self._wants: dict[str, set[str]] = {}
        self._wants_of_all: set[str] = set()
        self._absent: set[str] = set()
        self._asked_for: set[str] = set()
        self._thread = local()

    def let_in(self, file: str) -> str:
        """Read one file of the folder, with what it names; the name of its module."""
        self._read_all([file])
        self._asked_for.add(file)
        return f"{self.name}.{file.removesuffix('.py').replace('.', _DOT)}"

    def closure(self, file: str) -> dict[str, bytes]:
        """A file and what it leads to."""
        self._read_all([file])
        found: dict[str, bytes] = {}
        waiting = [file, *self._wants_of_all]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._read[name]
                waiting.extend(self._wants[name])
        return dict(sorted(found.items()))

    def is_fresh(self) -> bool:
        """Whether the folder still holds what was read, and nothing that would have been preferred."""
        return all(self._holds(file, content) for file, content in self._read.items()) and not any(
            self._imports.files_of(name) for name in self._absent
        )

    def spec(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        """How to load a module of this package; None where the folder does not hold it."""
        if fullname == self.name:
            return self._spec(fullname, "__init__.py", self._run_root, self.folder)
        place = "/".join(part.replace(_DOT, ".") for part in fullname.split(".")[1:])
        file = self._imports.file_at(place)
        if file is None:
            return None  # a folder without __init__.py is Python's own matter
        self._admit(file)
        if not file.endswith(".py"):
            loader = importlib.machinery.ExtensionFileLoader(fullname, str(self.folder / file))
            return spec_from_file_location(fullname, self.folder / file, loader=loader)
        folder = self.folder / place if file.endswith("/__init__.py") else None
        return self._spec(fullname, file, self._run, folder)

    def _spec(
        self, name: str, file: str, run: Callable[[str, ModuleType], None], folder: Path | None
    ) -> importlib.machinery.ModuleSpec:
        loader = _Loader(lambda module: run(file, module))
        spec = importlib.machinery.ModuleSpec(
            name, loader, origin=str(self.folder / file), is_package=folder is not None
        )
        spec.has_location = (self.folder / file).is_file()
        if folder is not None:
            spec.submodule_search_locations = [str(folder)]
        return spec

    def _run(self, file: str, module: ModuleType) -> None:
        running = self._running
        running.append(file)
        try:
            code = self._imports.compile(self._read[file], self.folder / file)
            exec(code, module.__dict__)
        finally:
            running.pop()

    def _run_root(self, file: str, module: ModuleType) -> None:
        """`__init__.py` of the plug-ins' folder is run when something of it is asked for, and not before."""

        def ask(name: str) -> Any:
            if not self._imports.files_of(name) and (self.folder / file).is_file():
                del module.__dict__["__getattr__"]
                self._admit(file)
                self._run(file, module)
                if name in module.__dict__:
                    return module.__dict__[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = ask

    @property
    def _running(self) -> list[str]:
        """Files of this package that this thread is executing, the innermost last."""
        stack: list[str] = self._thread.__dict__.setdefault("stack", [])
        return stack

    def _admit(self, file: str) -> None:
        """Raise ConfigError for a file that a run under way does not know."""
        if file not in self._read and self.seals:
            raise ConfigError(
                f"the plug-in file {str(self.folder / file)!r} was first imported during the run, so it is "
                "no part of its identity; import it by name, at the top of the plug-in"
            )
        self._read_all([file])
        if self._running:
            self._wants[self._running[-1]].add(file)
        elif file not in self._asked_for:  # by a computed name, of code that is no longer being loaded
            self._wants_of_all.add(file)

    def _read_all(self, files: Iterable[str]) -> None:
        """Read files, and what they name, once."""
        waiting = list(files)
        with _LOCK:
            while waiting:
                file = waiting.pop()
                if file in self._read:
                    continue
                self._read[file] = content = (self.folder / file).read_bytes()
                wanted, absent = self._imports.named(content, file)
                self._wants.setdefault(file, set()).update(wanted)
                self._absent |= absent
                waiting.extend(wanted)

    def _holds(self, file: str, content: bytes) -> bool:
        try:
            return (self.folder / file).read_bytes() == content
        except OSError:
            return False


class _Loader(importlib.abc.Loader):
    """Runs a module from kept bytes."""

    def __init__(self, run: Callable[[ModuleType], None]) -> None:
        self._run = run

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        self._run(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of private packages."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None for every other module."""
        package = _PACKAGES.get(fullname.partition(".")[0])
        return package.spec(fullname) if package is not None else None


_LOCK = RLock()
_PACKAGES: dict[str, PluginPackage] = {}
"""Every package of this process by name: modules of an older one may still be in use."""
_NUMBERS = count(1)
_FINDER = _Finder()


def _package_of(folder: Path) -> PluginPackage:
    """A package of a folder as it is now: one that is in use already, or a new one."""
    with _LOCK:
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        for package in _PACKAGES.values():
            if package.folder == folder and package.is_fresh():
                return package
        digest = sha256(bytes(folder)).hexdigest()[:8]
        package = PluginPackage(folder, f"{_PREFIX}{digest}_{next(_NUMBERS)}")
        _PACKAGES[package.name] = package
        return package


def _is_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, World) or (
        getattr(value, "__module__", None) == module.__name__ and hasattr(value, "__name__")
    )
