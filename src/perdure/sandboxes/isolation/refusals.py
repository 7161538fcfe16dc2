"""Why a machine refuses sandboxes, in one line with the one command that changes it."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

_MAX_NAMESPACES = "/proc/sys/user/max_user_namespaces"
_DEBIANS_SWITCH = "/proc/sys/kernel/unprivileged_userns_clone"
_APPARMORS_SWITCH = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_OLDEST_KERNEL = (5, 14)
_NO_RIGHTS = (errno.EPERM, errno.EACCES)
_REFUSING_WORDS = ("Operation not permitted", "Permission denied", "could not be mapped")


def explain(error: Exception, *, is_root: bool) -> str:
    """One line for a sandbox that could not be made; `is_root`: root of the host asked for it."""
    said = " ".join(str(error).split())
    code = error.errno if isinstance(error, OSError) else None
    return refusal(said, code, os.uname().release, Path("/"), is_root=is_root)


def refusal(said: str, code: int | None, release: str, top: Path, *, is_root: bool) -> str:
    """The line for what was `said` by the step that failed, on a machine whose files lie below `top`."""
    if _number(top, _MAX_NAMESPACES) == 0:
        return _line("user namespaces are switched off", "sysctl -w user.max_user_namespaces=15000")
    if not is_root and _number(top, _DEBIANS_SWITCH) == 0:
        return _line("user namespaces are for root only here", "sysctl -w kernel.unprivileged_userns_clone=1")
    refused = code in _NO_RIGHTS or any(words in said for words in _REFUSING_WORDS)
    if refused and not is_root and _number(top, _APPARMORS_SWITCH):
        return _line(
            "AppArmor restricts user namespaces here",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        )
    if refused and _in_container(top):
        return (
            f"this container forbids user namespaces ({said}); start it with --privileged, or choose "
            "sandbox = 'docker'"
        )
    if _version(release) < _OLDEST_KERNEL:
        return f"Linux {release} is too old; sandboxes need 5.14 ({said}); choose sandbox = 'docker'"
    if "overlay" in said and not _has_overlay(top):
        return _line("there is no overlay file system", "modprobe overlay")
    if code == errno.ENOSPC:
        return _line("there are too many user namespaces", "sysctl -w user.max_user_namespaces=15000")
    if "a mount of its own" in said:
        return f"{said}; build a root file system with: perdure sandbox build debian"
    if refused:
        return f"user namespaces are forbidden here ({said}); choose sandbox = 'docker'"
    return said


def _line(problem: str, command: str) -> str:
    return f"{problem}; run as root: {command}"


def _number(top: Path, path: str) -> int | None:
    try:
        return int((top / path.lstrip("/")).read_text())
    except (OSError, ValueError):
        return None


def _in_container(top: Path) -> bool:
    return any((top / name).exists() for name in (".dockerenv", "run/.containerenv"))


def _has_overlay(top: Path) -> bool:
    try:
        return "\toverlay\n" in (top / "proc/filesystems").read_text()
    except OSError:
        return True


def _version(release: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else _OLDEST_KERNEL
