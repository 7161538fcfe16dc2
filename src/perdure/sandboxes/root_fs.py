"""Root file systems: built once a machine, cached, shared read-only by every sandbox.

A name says where one comes from:

    debian           Debian 12 by mmdebstrap, or debootstrap (packages of PACKAGES)
    ubuntu           Ubuntu 24.04 likewise, where its archive can be reached
    docker:IMAGE     an image that Docker or Podman has, exported
    PATH.tar         any root file system as a tar file
    host             the host's own /usr, read-only: the last resort (system accounts only, nothing setuid)

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

READY = "ready"
"""A file beside the tree, written when it is complete."""

HOST_FOLDERS = ("usr",)
HOST_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


@dataclass(frozen=True)
class RootFileSystem:
    """A prepared root: the tree under every sandbox's writes, and host folders bound read-only over it."""

    name: str
    tree: Path
    binds: tuple[tuple[str, str], ...] = ()


def roots_folder() -> Path:
    """Where root file systems are cached."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "perdure" / "roots"


def root_folder(name: str) -> Path:
    """The cache folder of one root; a tar file's contents are part of its name. Raises ConfigError."""
    if name.endswith(".tar"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ConfigError(f"root file system {name!r}: there is no such file")
        facts = path.stat()
        key = sha256(f"{path.resolve()}|{facts.st_size}|{facts.st_mtime_ns}".encode()).hexdigest()[:12]
        return roots_folder() / f"tar-{key}-{os.geteuid()}"
    if name not in ("debian", "ubuntu", "host") and not name.startswith("docker:"):
        raise ConfigError(
            f"unknown root file system {name!r}; choose debian, ubuntu, host, docker:IMAGE or a .tar file"
        )
    return roots_folder() / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}-{os.geteuid()}"


def find_root(name: str) -> RootFileSystem | None:
    """A root that has been built, or None. Raises ConfigError for a name that means nothing."""
    folder = root_folder(name)
    if not (folder / READY).is_file():
        return None
    binds = tuple((f"/{part}", f"/{part}") for part in HOST_FOLDERS) if name == "host" else ()
    return RootFileSystem(name, folder / "tree" / "fs", binds)
