"""What a machine offers, part by part: small parts are looked at, what can be started is started."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from perdure.cli.probe_processes import Probed, run_probes
from perdure.core.installation import add_extras, add_packages

_LEAST_DISK = 1 << 30
_ALL = "everything"


@dataclass(frozen=True)
class Finding:
    """One part: who needs it, whether it works, what was found, and the command that brings it.

    `seconds`: how long it took to start, for a part that was started.
    """

    part: str
    used_by: str
    works: bool
    found: str
    remedy: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Want:
    """A part that single plugins want: `plugins` are modules below `perdure`, such as `models.local`.

    It is looked at by `look`, or started by the probe of this name; see `perdure.cli.probes`.
    """

    part: str
    plugins: tuple[str, ...]
    remedy: str
    look: Callable[[], tuple[bool, str]] | None = None
    probe: str = ""


def examine() -> Iterator[Finding]:
    """What everything needs, then what a plugin or command that is there wants. Raises nothing."""
    wanted = {want: users for want in wants() if (users := _users(want))}
    probed = run_probes([want.probe for want in wanted if want.probe])
    yield Finding("Python", _ALL, sys.version_info >= (3, 11), platform.python_version(), "Python 3.11+")
    yield _looked("perdure", _ALL, lambda: (True, version("perdure")), add_extras())
    yield Finding(
        "SQLite",
        _ALL,
        sqlite3.sqlite_version_info >= (3, 35),
        sqlite3.sqlite_version,
        "a Python built with SQLite 3.35 or newer",
    )
    yield Finding("processors", "", True, f"{os.cpu_count() or 1}")
    yield _looked("disk space here", "", _disk, "free 1 GiB")
    for want, users in wanted.items():
        yield _finding(want, users, probed)
    yield _looked("pytest", "tests that `new` writes", _installed("pytest"), add_packages("pytest"))


def wants() -> Iterator[Want]:
    """Every part that a plugin may want, whether or not that plugin is there."""
    local, shell, database = ("models.local",), ("environments.operating_system",), ("environments.database",)
    bubblewrap, docker, podman = ("sandboxes.bubblewrap",), ("sandboxes.docker",), ("sandboxes.podman",)
    graph = ("environments.knowledge_graph",)
    yield Want("local runtime", local, add_extras("local"), look=_installed("xllamacpp"))
    yield Want("packaged model", local, "", probe="model")
    yield Want("bashlex", shell, add_extras("os"), look=_installed("bashlex"))
    yield Want("sandbox", bubblewrap, "", probe="sandbox")
    yield Want("mmdebstrap", bubblewrap, "sudo apt-get install mmdebstrap", look=_program("mmdebstrap"))
    yield Want("graph engine", graph, add_extras("kg"), look=_installed("pyoxigraph"))
    yield Want("MySQL client", database, add_extras("mysql"), look=_installed("PyMySQL"))
    yield Want("MariaDB", database, "", probe="mariadb")
    yield Want("Docker client", (*docker, *podman), add_extras("docker"), look=_installed("docker"))
    yield Want("Docker engine", docker, "", probe="docker")
    yield Want("Podman engine", podman, "", probe="podman")


def _users(want: Want) -> str:
    return ", ".join(_told(plugin) for plugin in want.plugins if _shipped(plugin))


def _shipped(plugin: str) -> bool:
    try:
        return find_spec(f"perdure.{plugin}") is not None
    except ModuleNotFoundError:  # not even its package
        return False


def _told(plugin: str) -> str:
    """`models.local` → `model local`."""
    package, _, name = plugin.partition(".")
    kind = {"models": "model", "environments": "environment", "sandboxes": "sandbox"}[package]
    return f"{kind} {name}"


def _finding(want: Want, users: str, probed: Mapping[str, Probed]) -> Finding:
    if want.look is not None:
        return _looked(want.part, users, want.look, want.remedy)
    answer = probed[want.probe]
    started = Finding(want.part, users, answer.works, answer.found, answer.remedy or want.remedy)
    return replace(started, seconds=answer.seconds)


def _looked(part: str, users: str, look: Callable[[], tuple[bool, str]], remedy: str) -> Finding:
    """A look that breaks is a finding: it says what is wrong with this machine."""
    try:
        return Finding(part, users, *look(), remedy)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other parts are still of interest
        return Finding(part, users, False, f"{type(error).__name__}: {error}", remedy)


def _installed(name: str) -> Callable[[], tuple[bool, str]]:
    """Looks for a distribution of this name."""

    def look() -> tuple[bool, str]:
        try:
            return True, f"{name} {version(name)}"
        except PackageNotFoundError:
            return False, f"{name} is not installed"

    return look


def _program(name: str) -> Callable[[], tuple[bool, str]]:
    """Looks for a program on the path."""

    def look() -> tuple[bool, str]:
        place = shutil.which(name)
        return place is not None, place or "not found"

    return look


def _disk() -> tuple[bool, str]:
    free = shutil.disk_usage(Path.cwd()).free
    return free >= _LEAST_DISK, f"{free / (1 << 30):.1f} GiB free"
