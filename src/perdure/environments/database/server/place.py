"""Where a private MariaDB keeps its folder: wherever the account that it runs as can go."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

from perdure.core.errors import EnvironmentUnavailable

_MEMORY = "/dev/shm"
_MEMORY_BYTES = 1 << 30
_LONGEST = 70
"""Bytes of the place's own path: with our folder and `socket` below it, an address holds 107 (man 7 unix)."""


def server_place(account: pwd.struct_passwd | None) -> str:
    """Memory, where a file system offers enough of it (a database lives for one task), or a temporary folder.

    `account`: as `unprivileged_account` gives it. Root's own temporary folder may lie where others cannot go.
    Raises EnvironmentUnavailable.
    """
    temporary = list(dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]))
    for place in [*([_MEMORY] if _is_roomy(_MEMORY) else []), *temporary]:
        fits = os.path.isdir(place) and len(os.fsencode(place)) <= _LONGEST
        if fits and os.access(place, os.W_OK | os.X_OK) and _is_reachable(Path(place), account):
            return place
    whom = "we" if account is None else repr(account.pw_name)
    raise EnvironmentUnavailable(
        f"a private MariaDB has no place that {whom} can use; tried {_MEMORY}, {', '.join(temporary)}"
    )


def _is_roomy(place: str) -> bool:
    try:
        return shutil.disk_usage(place).free >= _MEMORY_BYTES
    except OSError:
        return False


def _is_reachable(place: Path, account: pwd.struct_passwd | None) -> bool:
    """Whether an account may enter a folder and all that lead to it, by their modes."""
    resolved = place.resolve()
    return account is None or all(_may_enter(path, account) for path in (resolved, *resolved.parents))


def _may_enter(folder: Path, account: pwd.struct_passwd) -> bool:
    facts = folder.stat()
    if facts.st_uid == account.pw_uid:
        return bool(facts.st_mode & stat.S_IXUSR)
    if facts.st_gid == account.pw_gid:
        return bool(facts.st_mode & stat.S_IXGRP)
    return bool(facts.st_mode & stat.S_IXOTH)
