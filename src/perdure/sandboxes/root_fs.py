"""Root file systems: built once a machine, cached, shared read-only by every sandbox.

A name says where one comes from:

    debian           Debian 12 by mmdebstrap, or debootstrap (packages of PACKAGES)
    ubuntu           Ubuntu 24.04 likewise, where its archive can be reached
    docker:IMAGE     an image that Docker or Podman has, exported
    PATH.tar         any root file system as a tar file
    host             the host's own /usr under a thin tree of ours (`isolation.host_root`): nothing to build

They lie in `$XDG_CACHE_HOME/perdure/roots` (XDG base directories 0.8), unpacked inside the id mapping of the
sandboxes, so that ownership inside is right and means nothing outside.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.sandboxes.isolation.identity import NoIdMapping, find_mapping
from perdure.storage.cache_folder import cache_folder

READY = "ready"
"""A file beside the tree, written when it is complete."""

HOST = "host"


@dataclass(frozen=True)
class RootFileSystem:
    """A prepared root: the tree under every sandbox's writes, or None for the host's, made in memory."""

    name: str
    tree: Path | None


def roots_folder() -> Path:
    """Where root file systems are cached. Raises ConfigError where neither a cache nor a home is known."""
    return cache_folder("roots")


def root_folder(name: str) -> Path:
    """The cache folder of one root; a tar file's contents are part of its name. Raises ConfigError."""
    if name.endswith(".tar"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ConfigError(f"root file system {name!r}: there is no such file")
        facts = path.stat()
        key = sha256(f"{path.resolve()}|{facts.st_size}|{facts.st_mtime_ns}".encode()).hexdigest()[:12]
        return roots_folder() / f"tar-{key}-{_owner()}"
    if name not in ("debian", "ubuntu", HOST) and not name.startswith("docker:"):
        raise ConfigError(
            f"unknown root file system {name!r}; choose debian, ubuntu, host, docker:IMAGE or a .tar file"
        )
    return roots_folder() / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}-{_owner()}"


def _owner() -> str:
    """Whose files a tree has: ours, and behind the ids inside those of a range, which may become another."""
    try:
        return f"{os.geteuid()}-{find_mapping().uid}"
    except NoIdMapping:
        return str(os.geteuid())


def find_root(name: str) -> RootFileSystem | None:
    """A root that is ready, or None. Raises ConfigError for a name that means nothing."""
    if name == HOST:
        return RootFileSystem(HOST, None)
    folder = root_folder(name)
    return RootFileSystem(name, folder / "tree" / "fs") if (folder / READY).is_file() else None
