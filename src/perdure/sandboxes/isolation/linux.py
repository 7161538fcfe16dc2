"""System calls of namespaces and mounts that Python 3.11 lacks (man 2 unshare, setns, mount, prctl)."""

from __future__ import annotations

import ctypes
import os
import signal
from functools import cache

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
_MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_LAST_CONCEIVABLE_CAPABILITY = 63


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(name: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _checked("unshare", _libc().unshare(flags))


def setns(fd: int, flags: int) -> None:
    """Join namespaces of the process behind a pidfd (Linux 5.8)."""
    _checked("setns", _libc().setns(fd, flags))


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """As `mount(2)`."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind)]
    result = _libc().mount(*encoded, ctypes.c_ulong(flags), None if options is None else options.encode())
    _checked(f"mount {target}", result)


def unmount(target: str) -> None:
    """Take a mount out of sight; what uses it goes on."""
    _checked(f"umount {target}", _libc().umount2(target.encode(), _MNT_DETACH))


def die_with_parent() -> None:
    """Get SIGKILL when the thread that made this process ends; any change of credentials undoes it."""
    _checked("prctl", _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def stay_visible() -> None:
    """Keep the files of /proc/self ours after a change of user; id maps are written through them."""
    _checked("prctl", _libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))


def keep_only_capabilities(kept: frozenset[int]) -> None:
    """Shrink the bounding set: no program started from here on gets any other capability."""
    for capability in range(_LAST_CONCEIVABLE_CAPABILITY + 1):
        if capability in kept:
            continue
        if _libc().prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) == 1:
            _checked("prctl", _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))
