"""What every sandbox of a helper shares, laid out in a tmpfs that only the helper and its children see.

Ids inside may enter no private folder of ours: a virtual environment, a cache or a temporary folder below a
home of mode 0700. So bubblewrap is copied here with its libraries, and the root file system is bound here (or
laid here, for the host's), while we still have the rights of whoever started us.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from . import host_root
from .identity import IdMapping, become_root, enter
from .linux import (
    CLONE_NEWNS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    mount,
    unmount,
    unshare,
)

_PLACES = ("/mnt", "/media", "/srv", "/opt", "/tmp")
"""Folders that a tmpfs may cover in our own mount namespace; the first that is there is taken."""

_OPTIONS = "mode=755,size=64m"


@dataclass(frozen=True)
class Stage:
    """Absolute paths: the program, the tree under every sandbox's writes, and a folder for those writes.

    `layers` are folders of the host that lie under the tree at their own place.
    """

    bubblewrap: str
    root: str
    space: str
    layers: tuple[str, ...]
    is_root: bool
    """Root of the host asked for the sandboxes."""


def set_the_stage(root: str, bubblewrap: dict[str, str], mapping: IdMapping) -> Stage:
    """Enter the mapped ids and lay everything out. Raises OSError; the step that failed is in its message.

    `root` is a folder, or empty for the host's own. `bubblewrap` maps paths in its wheel to those here; the
    first one is the program.
    """
    place = next((path for path in _PLACES if os.path.isdir(path)), "/tmp")
    files = {path: Path(source).read_bytes() for path, source in bubblewrap.items()}
    layers = host_root.layers() if not root else []
    entries = host_root.read_host() if not root else []
    if root:
        os.chdir(root)
    else:
        _lay_bare(layers, mapping)
    enter(mapping)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    become_root()
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, _OPTIONS)
    for name in ("root", "space", "bubblewrap"):
        os.mkdir(f"{place}/{name}", 0o755)
    for path, content in files.items():
        os.makedirs(os.path.dirname(f"{place}/bubblewrap/{path}"), 0o755, exist_ok=True)
        Path(f"{place}/bubblewrap/{path}").write_bytes(content)
        os.chmod(f"{place}/bubblewrap/{path}", 0o755)
    if root:
        mount(".", f"{place}/root", None, MS_BIND)
    else:
        host_root.lay(entries, f"{place}/root")
    os.chdir("/")
    program = f"{place}/bubblewrap/{next(iter(bubblewrap))}"
    return Stage(program, f"{place}/root", f"{place}/space", tuple(layers), mapping.direct)


def _lay_bare(layers: list[str], mapping: IdMapping) -> None:
    """Take away what is mounted below the layers: an overlay refuses a folder that has mounts below it.

    Only root can; of an ordinary user's view they are a locked part (man 7 mount_namespaces).
    """
    below = mounts_below(layers, Path("/proc/self/mountinfo").read_bytes())
    if not below:
        return
    if not mapping.direct:
        raise OSError(f"{below[-1]!r} is a mount of its own below the host's programs")
    unshare(CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    for path in below:
        unmount(path)


def mounts_below(folders: list[str], table: bytes) -> list[str]:
    """Mount points strictly below any of the folders, last mounted first (man 5 proc, mountinfo)."""
    found = []
    for line in table.splitlines():
        path = os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1"))
        if any(path.startswith(f"{folder}/") for folder in folders):
            found.append(path)
    return found[::-1]
