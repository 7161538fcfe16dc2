"""Which root file system `auto` stands for on this machine."""

from __future__ import annotations

from perdure.sandboxes.root_fs import find_root

AUTO = "auto"


def choose_root(name: str) -> str:
    """The name of a root; `auto` is a Debian root that is cached, else the host. Nothing is built."""
    if name != AUTO:
        return name
    return "debian" if find_root("debian") is not None else "host"
