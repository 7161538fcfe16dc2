"""Which ids outside stand behind the ids inside, and how to enter a user namespace that maps them.

Inside, 65,536 ids exist, so that accounts, groups, `chown` and setuid programs work; outside, none of them is
a real account. As an ordinary user they are the range that the system administrator granted in /etc/subuid
and /etc/subgid (man 5 subuid), mapped by the setuid programs `newuidmap`, `newgidmap`; as root, the first one
that is granted to nobody there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .linux import CLONE_NEWNS, CLONE_NEWUSER, stay_visible, unshare

COUNT = 65_536
ROOTS_RANGE = 0x7000_0000
"""First id outside when root runs the sandboxes: above the subordinate ranges of accounts (login.defs ends at
600,100,000) and those that systemd gives to containers (its UIDS-GIDS document calls this one unused)."""
LOWER_RANGE = 200_000
"""Where a user namespace has no such high ids: above accounts, and from there on what nobody was granted."""
TABLES = (Path("/etc/subuid"), Path("/etc/subgid"))

Span: TypeAlias = tuple[int, int]
"""First id, and the one after the last."""


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
    if os.geteuid() == 0:
        held = [_held(Path(f"/proc/self/{name}_map")) for name in ("uid", "gid")]
        free = _free(held, [span for table in TABLES for span in _listed(table)])
        if free is not None:
            return IdMapping(True, free, free)
    import pwd  # no such module on Windows, where plugins are listed too

    account = pwd.getpwuid(os.geteuid()).pw_name
    missing = [program for program in ("newuidmap", "newgidmap") if shutil.which(program) is None]
    if missing:
        raise NoIdMapping(f"{missing[0]!r} is not installed; run: apt-get install uidmap")
    uid, gid = (_granted(table, account) for table in TABLES)
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


def _held(map_file: Path) -> list[Span]:
    """The ids that exist in the user namespace that we are in."""
    lines = (map(int, line.split()) for line in map_file.read_text().splitlines())
    return [(first, first + count) for first, _, count in lines]


def _free(held: Iterable[Sequence[Span]], taken: Sequence[Span]) -> int | None:
    """Where `COUNT` ids begin that exist as users and as groups, and of which no span holds one."""
    for least in (ROOTS_RANGE, LOWER_RANGE):
        for first in sorted({least, *(end for _, end in taken if end > least)}):
            last = first + COUNT
            exist = all(any(a <= first and last <= b for a, b in spans) for spans in held)
            if exist and not any(a < last and first < b for a, b in taken):
                return first
    return None


def _listed(table: Path) -> list[Span]:
    """Every range of a table, whoever has it; what is no range is passed over."""
    if not table.is_file():
        return []
    spans = (line.strip().split(":")[1:] for line in table.read_text().splitlines())
    return [(int(s[0]), int(s[0]) + int(s[1])) for s in spans if len(s) == 2 and all(map(_is_number, s))]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _granted(table: Path, account: str) -> int | None:
    """First id of the first range of an account that is wide enough."""
    if not table.is_file():
        return None
    for line in table.read_text().splitlines():
        owner, _, span = line.strip().partition(":")
        first, _, count = span.partition(":")
        wide = _is_number(count) and _is_number(first) and int(count) >= COUNT
        if wide and owner in (account, str(os.geteuid())):
            return int(first)
    return None
