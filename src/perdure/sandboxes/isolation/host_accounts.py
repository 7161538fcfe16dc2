"""Accounts and groups of the root "host": those of Debian's base-passwd, none of the host's own."""

from __future__ import annotations

from collections.abc import Iterable

GROUPS = {
    "root": 0,
    "daemon": 1,
    "bin": 2,
    "sys": 3,
    "adm": 4,
    "tty": 5,
    "disk": 6,
    "lp": 7,
    "mail": 8,
    "news": 9,
    "uucp": 10,
    "man": 12,
    "proxy": 13,
    "kmem": 15,
    "dialout": 20,
    "fax": 21,
    "voice": 22,
    "cdrom": 24,
    "floppy": 25,
    "tape": 26,
    "sudo": 27,
    "audio": 29,
    "dip": 30,
    "www-data": 33,
    "backup": 34,
    "operator": 37,
    "list": 38,
    "irc": 39,
    "src": 40,
    "shadow": 42,
    "utmp": 43,
    "video": 44,
    "sasl": 45,
    "plugdev": 46,
    "staff": 50,
    "games": 60,
    "users": 100,
    "crontab": 101,
    "nogroup": 65534,
}

_USERS = {
    "root": (0, 0, "/root", "/bin/bash"),
    "daemon": (1, 1, "/usr/sbin", ""),
    "bin": (2, 2, "/bin", ""),
    "sys": (3, 3, "/dev", ""),
    "sync": (4, 65534, "/bin", "/bin/sync"),
    "games": (5, 60, "/usr/games", ""),
    "man": (6, 12, "/var/cache/man", ""),
    "lp": (7, 7, "/var/spool/lpd", ""),
    "mail": (8, 8, "/var/mail", ""),
    "news": (9, 9, "/var/spool/news", ""),
    "uucp": (10, 10, "/var/spool/uucp", ""),
    "proxy": (13, 13, "/bin", ""),
    "www-data": (33, 33, "/var/www", ""),
    "backup": (34, 34, "/var/backups", ""),
    "list": (38, 38, "/var/list", ""),
    "irc": (39, 39, "/run/ircd", ""),
    "_apt": (42, 65534, "/nonexistent", ""),
    "nobody": (65534, 65534, "/nonexistent", ""),
}
"""Name → user id, group id, home, shell; an empty shell is nologin."""

_CHANGED = 19_000
"""Days since 1970 in the shadow file (man 5 shadow); a constant, so that every sandbox is alike."""


def account_files() -> dict[str, str]:
    """Contents of the files below /etc that say who exists."""
    nologin = "/usr/sbin/nologin"
    users = [
        f"{name}:x:{uid}:{gid}:{name}:{home}:{shell or nologin}"
        for name, (uid, gid, home, shell) in _USERS.items()
    ]
    return {
        "passwd": _lines(users),
        "group": _lines(f"{name}:x:{gid}:" for name, gid in GROUPS.items()),
        "shadow": _lines(f"{name}:*:{_CHANGED}:0:99999:7:::" for name in _USERS),
        "gshadow": _lines(f"{name}:*::" for name in GROUPS),
        "subuid": "",
        "subgid": "",
        "sudoers": "root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n",
    }


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
