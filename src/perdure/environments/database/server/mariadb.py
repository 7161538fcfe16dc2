"""A private MariaDB from the machine's own package: a socket in a temporary folder, and nothing else."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from perdure.core.errors import EnvironmentUnavailable
from perdure.environments.database.server.address import Address
from perdure.environments.database.server.bootstrap import (
    SERVER_OPTIONS,
    find_server,
    first_error,
    prepared_data,
    unprivileged_account,
)
from perdure.environments.database.server.link import MODE
from perdure.environments.database.server.place import server_place

_START_SECONDS = 60.0
_ADMIN = "perdure_admin"
_KEEPER = 'dir=$1; shift; "$@" & read -r _; kill -9 $!; wait $! 2>/dev/null; rm -rf "$dir"'
"""Holds the server and reads a pipe of which we have the other end: when we are gone, however, so are the
server and its folder. (A parent-death signal would follow the thread that started it.)"""


class MariadbServer:
    """A running server; `stop` ends it and removes its folder.

    Raises MissingExtra without a server on the machine, EnvironmentUnavailable when it does not start.
    """

    def __init__(self) -> None:
        program = find_server()
        account = unprivileged_account()
        data = prepared_data(program, account)
        self._folder = Path(tempfile.mkdtemp(prefix="perdure-mariadb-", dir=server_place(account)))
        self._password = secrets.token_urlsafe(18)
        self.address = Address(_ADMIN, self._password, socket=str(self._folder / "socket"))
        shutil.copytree(data, self._folder / "data")
        (self._folder / "tmp").mkdir()
        (self._folder / "init.sql").write_text(self._first_statements())
        if account is not None:
            _give(self._folder, account)
        self._process = self._start(program, account)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server and remove its folder. Idempotent."""
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            pipe.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _first_statements(self) -> str:
        account = f"'{_ADMIN}'@'localhost'"
        return (
            f"CREATE USER {account} IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION;\n"
        )

    def _start(self, program: Path, account: pwd.struct_passwd | None) -> subprocess.Popen[bytes]:
        folder = self._folder
        command: Sequence[str] = (
            *("/bin/sh", "-c", _KEEPER, "keeper", str(folder), str(program), *SERVER_OPTIONS),
            *(f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", f"--tmpdir={folder / 'tmp'}"),
            *(f"--pid-file={folder / 'pid'}", f"--init-file={folder / 'init.sql'}", f"--sql-mode={MODE}"),
            f"--secure-file-priv={folder / 'tmp'}",
            "--sysdate-is-now",
        )
        with open(folder / "log", "wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
                user=account.pw_uid if account is not None else None,
                group=account.pw_gid if account is not None else None,
                extra_groups=[] if account is not None else None,
            )

    def _wait(self) -> None:
        """Until the server says that it is ready, which it does after the first statements."""
        limit = time.monotonic() + _START_SECONDS
        while time.monotonic() < limit:
            log = (self._folder / "log").read_text("utf-8", "replace")
            if "ready for connections" in log:
                return
            if "Aborting" in log or self._process.poll() is not None:
                break
            time.sleep(0.01)
        else:
            raise EnvironmentUnavailable(f"the private MariaDB did not start within {_START_SECONDS:.0f} s")
        raise EnvironmentUnavailable(f"the private MariaDB did not start: {first_error(log)}")


def _give(folder: Path, account: pwd.struct_passwd) -> None:
    """Make a folder and all in it another account's, for it alone."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid)
