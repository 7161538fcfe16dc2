"""The root "host": a thin tree of our own, under which the host's /usr is the lowest overlay layer.

The tree is made anew in memory by each helper process, so it needs no folder that could be full, private or
stale. It holds what must belong to the ids inside: system folders, accounts, the folders of /usr in which
people write, and copies of the programs that change who they run as (the host's own cannot: their owner is
not mapped). Settings of the host are taken only where everybody may read them, and only those of `_SETTINGS`:
links between programs, PAM, the loader's cache; nothing that names the host's people or services.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .host_accounts import GROUPS, account_files

SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Folders of the host that hold its programs; where /usr is merged, all but the first are links."""

_FOLDERS = {
    "boot": 0o755,
    "dev": 0o755,
    "etc": 0o755,
    "etc/cron.d": 0o755,
    "etc/cron.daily": 0o755,
    "etc/cron.hourly": 0o755,
    "etc/cron.monthly": 0o755,
    "etc/cron.weekly": 0o755,
    "etc/default": 0o755,
    "etc/opt": 0o755,
    "etc/profile.d": 0o755,
    "etc/skel": 0o755,
    "etc/ssh": 0o755,
    "etc/sudoers.d": 0o750,
    "home": 0o755,
    "media": 0o755,
    "mnt": 0o755,
    "opt": 0o755,
    "proc": 0o555,
    "root": 0o700,
    "run": 0o755,
    "run/lock": 0o1777,
    "srv": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "var": 0o755,
    "var/backups": 0o755,
    "var/cache": 0o755,
    "var/lib": 0o755,
    "var/lib/misc": 0o755,
    "var/local": 0o2775,
    "var/log": 0o755,
    "var/mail": 0o2775,
    "var/opt": 0o755,
    "var/spool": 0o755,
    "var/spool/cron": 0o755,
    "var/spool/cron/crontabs": 0o1730,
    "var/tmp": 0o1777,
}
_OWNING_GROUPS = {
    "var/local": "staff",
    "var/mail": "mail",
    "var/spool/cron/crontabs": "crontab",
    "etc/shadow": "shadow",
    "etc/gshadow": "shadow",
    "var/log/btmp": "utmp",
    "var/log/lastlog": "utmp",
    "var/log/wtmp": "utmp",
}
_LINKS = {"var/run": "/run", "var/lock": "/run/lock", "var/spool/mail": "../mail", "etc/mtab": "/proc/mounts"}
_FILES = {
    "etc/environment": "",
    "etc/fstab": "",
    "etc/hostname": "sandbox\n",
    "etc/hosts": "127.0.0.1 localhost sandbox\n",
    "etc/machine-id": "",
    "etc/motd": "",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files\n",
    "etc/resolv.conf": "",
    "var/log/btmp": "",
    "var/log/lastlog": "",
    "var/log/wtmp": "",
}
_PRIVATE_MODES = {"etc/shadow": 0o640, "etc/gshadow": 0o640, "etc/sudoers": 0o440, "var/log/btmp": 0o660}
_SETTINGS = (
    "adduser.conf",
    "alternatives",
    "bash.bashrc",
    "debian_version",
    "default/useradd",
    "deluser.conf",
    "init.d",
    "inputrc",
    "issue",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "manpath.config",
    "mime.types",
    "mke2fs.conf",
    "os-release",
    "pam.conf",
    "pam.d",
    "profile",
    "protocols",
    "redhat-release",
    "rpc",
    "security",
    "services",
    "shells",
    "skel",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
)
_LARGEST_SETTING = 1 << 20
_PROGRAM_FOLDERS = ("usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin", "bin", "sbin")
_OWNED_PLUGINS = ("usr/lib/sudo", "usr/libexec/sudo")
"""Libraries that a program loads only if root owns them (man 5 sudo.conf)."""
_WRITTEN_DEPTH = 2
_LOCAL_DEPTH = 4


@dataclass(frozen=True)
class Entry:
    """Something of the tree: a folder, a link (`content` is its target), or a file."""

    path: str
    kind: str
    mode: int = 0o755
    group: int = 0
    content: bytes = b""


def read_host(top: str = "/") -> list[Entry]:
    """The tree for a host whose root is `top`, parents before what they hold.

    Reads with the rights of the caller; has to run before those are given up.
    """
    entries = {entry.path: entry for entry in (*_system(), *_settings(top), *_written_folders(top))}
    for entry in (*_own_files(), *_links_of_programs(top), *_copies(top)):
        entries[entry.path] = entry
    for path in list(entries):
        parent = os.path.dirname(path)
        while parent and parent not in entries:
            entries[parent] = Entry(parent, "folder")
            parent = os.path.dirname(parent)
    return [entries[path] for path in sorted(entries)]


def lay(entries: list[Entry], tree: str) -> None:
    """Make the tree, as the root of the mapped ids."""
    for entry in entries:
        path = f"{tree}/{entry.path}"
        if entry.kind == "link":
            os.symlink(entry.content, path)
            continue
        if entry.kind == "folder":
            os.mkdir(path)
        else:
            with open(path, "xb") as file:
                file.write(entry.content)
        if entry.group:
            os.chown(path, 0, entry.group)
        os.chmod(path, entry.mode)


def layers(top: str = "/") -> list[str]:
    """Folders of the host that become the lowest layer at their own place."""
    paths = [os.path.join(top, name) for name in SYSTEM_FOLDERS]
    return [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]


def _system() -> Iterator[Entry]:
    for path, mode in _FOLDERS.items():
        yield Entry(path, "folder", mode, GROUPS[_OWNING_GROUPS.get(path, "root")])


def _own_files() -> Iterator[Entry]:
    accounts = {f"etc/{name}": text for name, text in account_files().items()}
    for path, text in {**_FILES, **accounts}.items():
        group = GROUPS[_OWNING_GROUPS.get(path, "root")]
        yield Entry(path, "file", _PRIVATE_MODES.get(path, 0o644), group, text.encode())
    for path, target in _LINKS.items():
        yield Entry(path, "link", content=target.encode())


def _settings(top: str) -> Iterator[Entry]:
    for name in _SETTINGS:
        yield from _copied(top, f"etc/{name}", for_everybody)


def for_everybody(facts: os.stat_result) -> bool:
    """Whether every account of the host may read this."""
    wanted = 0o005 if stat.S_ISDIR(facts.st_mode) else 0o004
    return facts.st_mode & wanted == wanted


def _copied(top: str, path: str, wanted: Callable[[os.stat_result], bool]) -> Iterator[Entry]:
    """A file, link or folder of the host with all that is in it; what cannot be read is left out."""
    source = os.path.join(top, path)
    try:
        facts = os.lstat(source)
        if stat.S_ISLNK(facts.st_mode):
            yield Entry(path, "link", content=os.fsencode(os.readlink(source)))
        elif stat.S_ISDIR(facts.st_mode) and wanted(facts):
            yield Entry(path, "folder")
            for name in os.listdir(source):
                yield from _copied(top, f"{path}/{name}", wanted)
        elif stat.S_ISREG(facts.st_mode) and wanted(facts) and facts.st_size <= _LARGEST_SETTING:
            with open(source, "rb") as file:
                yield Entry(path, "file", stat.S_IMODE(facts.st_mode), content=file.read())
    except OSError:
        return


def _written_folders(top: str) -> Iterator[Entry]:
    """Folders of programs and their data, to the depth at which people add to them."""
    for folder in layers(top):
        yield from _folders_below(top, os.path.relpath(folder, top), _WRITTEN_DEPTH)
    yield from _folders_below(top, "usr/local", _LOCAL_DEPTH)


def _folders_below(top: str, path: str, depth: int) -> Iterator[Entry]:
    source = os.path.join(top, path)
    try:
        facts = os.lstat(source)
        if not stat.S_ISDIR(facts.st_mode):
            return
        yield Entry(path, "folder", stat.S_IMODE(facts.st_mode))
        if not depth:
            return
        with os.scandir(source) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in names:
        yield from _folders_below(top, f"{path}/{name}", depth - 1)


def _links_of_programs(top: str) -> Iterator[Entry]:
    """/bin, /lib, … where they are links."""
    for name in SYSTEM_FOLDERS:
        path = os.path.join(top, name)
        if os.path.islink(path):
            yield Entry(name, "link", content=os.fsencode(os.readlink(path)))


def _copies(top: str) -> Iterator[Entry]:
    """Programs that change who they run as, and the libraries that must belong to root."""
    names = _names_of_groups(top)
    for folder in _PROGRAM_FOLDERS:
        for name, facts in _special_programs(os.path.join(top, folder)):
            group = GROUPS.get(names.get(facts.st_gid, ""), 0) if facts.st_mode & stat.S_ISGID else 0
            keeps = facts.st_mode & stat.S_ISUID and facts.st_uid == 0
            if not group and not keeps:
                continue
            mode = stat.S_IMODE(facts.st_mode) & ~(0 if keeps else stat.S_ISUID)
            mode &= ~(0 if group else stat.S_ISGID)
            try:
                with open(os.path.join(top, folder, name), "rb") as file:
                    yield Entry(f"{folder}/{name}", "file", mode, group, file.read())
            except OSError:
                continue
    for folder in _OWNED_PLUGINS:
        yield from _copied(top, folder, for_everybody)


def _special_programs(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    if os.path.islink(folder):
        return
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    if facts.st_mode & (stat.S_ISUID | stat.S_ISGID):
                        yield entry.name, facts
    except OSError:
        return


def _names_of_groups(top: str) -> dict[int, str]:
    try:
        with open(os.path.join(top, "etc/group"), encoding="utf-8", errors="replace") as file:
            lines = [line.split(":") for line in file]
    except OSError:
        return {}
    return {int(fields[2]): fields[0] for fields in lines if len(fields) > 2 and fields[2].isdigit()}
