"""The data directory of a private MariaDB: prepared once a version, kept in the user's cache."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from hashlib import blake2b
from pathlib import Path

from perdure.core.errors import EnvironmentUnavailable, MissingExtra
from perdure.environments.database.server.place import server_place
from perdure.storage.cache_folder import cache_folder

SERVER_OPTIONS = (
    "--no-defaults",
    "--skip-networking",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--skip-symbolic-links",
    "--local-infile=0",
    "--performance-schema=0",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_unicode_520_nopad_ci",  # nearest to MySQL 8's utf8mb4_0900_ai_ci
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",  # the server does not outlive the run: nothing to be durable for
    "--innodb-doublewrite=0",
    "--aria-pagecache-buffer-size=4M",
    "--key-buffer-size=1M",
    "--max-connections=20",
    "--max-allowed-packet=16M",
)
_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
_PLACES = ("/usr/share/mysql", "/usr/share/mariadb", "/usr/local/share/mysql", "/usr/local/share/mariadb")
_SECONDS = 120
_LAYOUT = 1
"""Counts the changes of how a directory is prepared."""


def find_server() -> Path:
    """The server program. Raises MissingExtra."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"))
    found = shutil.which("mariadbd", path=path)
    if found is None:
        raise MissingExtra("MariaDB", "sudo apt-get install mariadb-server-core")
    return Path(found)


def unprivileged_account() -> pwd.struct_passwd | None:
    """Whom the server runs as: ourselves (None), or `nobody` where we are root, which it refuses to be."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def prepared_data(program: Path, account: pwd.struct_passwd | None) -> Path:
    """A data directory with system tables and without any account. Two runs may prepare it at once."""
    kept = cache_folder("mariadb") / _identity(program)
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="perdure-mariadb-", dir=server_place(account)) as folder:
            data = Path(folder, "data")
            data.mkdir()
            if account is not None:
                for path in (Path(folder), data):
                    os.chown(path, account.pw_uid, account.pw_gid)
            _bootstrap(program, data, account)
            _keep(data, kept)
    return kept


def first_error(log: str) -> str:
    """What a server complained of first."""
    lines = log.strip().splitlines()
    return next((line for line in lines if "[ERROR]" in line), lines[0] if lines else "it said nothing")


def _keep(data: Path, kept: Path) -> None:
    """Copy beside the place, then rename: whoever comes first wins, and a killed run leaves no half of it."""
    copy = Path(tempfile.mkdtemp(prefix=f"{kept.name}.", dir=kept.parent))
    try:
        shutil.copytree(data, copy / "data")
        (copy / "data").rename(kept)
    except OSError:
        if not kept.exists():
            raise
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _identity(program: Path) -> str:
    status = program.resolve().stat()
    text = f"{_LAYOUT} {program.resolve()} {status.st_size} {status.st_mtime_ns} {SERVER_OPTIONS}"
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _scripts() -> list[Path]:
    for place in _PLACES:
        scripts = [Path(place, name) for name in _TABLES]
        if all(script.exists() for script in scripts):
            return scripts
    raise EnvironmentUnavailable(f"MariaDB's {_TABLES[0]} is in none of {', '.join(_PLACES)}")


def _bootstrap(program: Path, data: Path, account: pwd.struct_passwd | None) -> None:
    texts = ["create database mysql;", "use mysql;", *(s.read_text("utf-8") for s in _scripts())]
    # No account but the owner of MariaDB's system views, which is locked, until a server makes its own.
    texts.append("delete from mysql.global_priv where User <> 'mariadb.sys';")
    done = subprocess.run(
        [str(program), *SERVER_OPTIONS, "--bootstrap", f"--datadir={data}", f"--tmpdir={data.parent}"],
        input="\n".join([*texts, ""]).encode(),
        capture_output=True,
        cwd=data,
        timeout=_SECONDS,
        check=False,
        user=account.pw_uid if account is not None else None,
        group=account.pw_gid if account is not None else None,
        extra_groups=[] if account is not None else None,
    )
    if done.returncode != 0:
        said = first_error(done.stderr.decode("utf-8", "replace"))
        raise EnvironmentUnavailable(f"MariaDB's data directory cannot be prepared: {said}")
