"""Which ids outside stand behind the ids inside, and how to enter a user namespace that maps them.

Inside, 65,536 ids exist, so that accounts, groups, `chown` and setuid programs work; outside, none of them is
a real account. As root the range is fixed, as an ordinary user it is the one that the system administrator
granted in /etc/subuid and /etc/subgid (man 5 subuid), mapped by the setuid programs `newuidmap`, `newgidmap`.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .linux import CLONE_NEWNS, CLONE_NEWUSER, stay_visible, unshare

COUNT = 65_536
ROOTS_RANGE = 200_000
"""First id outside when root runs the sandboxes: above ordinary accounts and the usual subordinate ranges."""


@dataclass(frozen=True)
class IdMapping:
    """Ids 0…65,535 inside are `uid`… and `gid`… outside; `direct` where root writes the map itself."""

    direct: bool
    uid: int
    gid: int


class NoIdMapping(Exception):
    """This machine grants no range of ids; the message is one line that says what to do."""


def find_mapping() -> IdMapping:
    """The range this process may use. Raises NoIdMapping."""
    if os.geteuid() == 0 and _holds(Path("/proc/self/uid_map")) and _holds(Path("/proc/self/gid_map")):
        return IdMapping(True, ROOTS_RANGE, ROOTS_RANGE)
    import pwd  # no such module on Windows, where plugins are listed too

    account = pwd.getpwuid(os.geteuid()).pw_name
    missing = [program for program in ("newuidmap", "newgidmap") if shutil.which(program) is None]
    if missing:
        raise NoIdMapping(f"{missing[0]!r} is not installed; run: apt-get install uidmap")
    uid = _granted(Path("/etc/subuid"), account)
    gid = _granted(Path("/etc/subgid"), account)
    if uid is None or gid is None:
        raise NoIdMapping(
            f"{account!r} has no subordinate ids; run as root: "
            f"usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {account}"
        )
    return IdMapping(False, uid, gid)


def enter(mapping: IdMapping) -> None:
    """Move this process into a new user and mount namespace, as the mapped root with every capability in it.

    Its own ids stay what they are until `become_root`, so that its files are still in reach. Raises OSError.
    """
    ready_read, ready_write = os.pipe()
    target = os.getpid()
    writer = os.fork()
    if writer == 0:
        os._exit(_write_maps(target, mapping, ready_read))
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        stay_visible()
    finally:
        os.write(ready_write, b"x")
        os.close(ready_read)
        os.close(ready_write)
        _, status = os.waitpid(writer, 0)
    if status != 0:
        raise OSError(f"the id range from {mapping.uid} could not be mapped")


def become_root() -> None:
    """Take id 0 of the user namespace this process is in."""
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    stay_visible()


def _write_maps(target: int, mapping: IdMapping, ready: int) -> int:
    """Runs in the process outside the new namespace; the answer is its exit status."""
    os.read(ready, 1)
    try:
        if mapping.direct:
            Path(f"/proc/{target}/uid_map").write_text(f"0 {mapping.uid} {COUNT}")
            Path(f"/proc/{target}/gid_map").write_text(f"0 {mapping.gid} {COUNT}")
            return 0
    except OSError:
        return 1
    for program, first in (("newuidmap", mapping.uid), ("newgidmap", mapping.gid)):
        path = shutil.which(program) or program
        status = os.spawnv(os.P_WAIT, path, [program, str(target), "0", str(first), str(COUNT)])
        if status != 0:
            return 1
    return 0


def _holds(map_file: Path) -> bool:
    """Whether the range of root exists in the user namespace that we are in."""
    for line in map_file.read_text().splitlines():
        first, _, count = (int(field) for field in line.split())
        if first <= ROOTS_RANGE and first + count >= ROOTS_RANGE + COUNT:
            return True
    return False


def _granted(table: Path, account: str) -> int | None:
    """First id of the first range of an account that is wide enough."""
    if not table.is_file():
        return None
    for line in table.read_text().splitlines():
        owner, _, span = line.strip().partition(":")
        first, _, count = span.partition(":")
        wide = count.isdigit() and first.isdigit() and int(count) >= COUNT
        if wide and owner in (account, str(os.geteuid())):
            return int(first)
    return None
