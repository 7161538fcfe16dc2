"""Which root file system `auto` stands for on this machine."""

from __future__ import annotations

from perdure.core.errors import ConfigError
from perdure.sandboxes.root_fs import HOST, find_root

AUTO = "auto"


def choose_root(name: str) -> str:
    """The name of a root; `auto` is a Debian root that is cached, else the host. Nothing is built."""
    if name != AUTO:
        return name
    try:
        return "debian" if find_root("debian") is not None else HOST
    except ConfigError:  # no place for a cache is known here
        return HOST
