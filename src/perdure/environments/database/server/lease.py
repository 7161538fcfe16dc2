"""What a run owns on a shared server: an account of few rights, and the databases it made.

Nothing of anybody else is touched: a database that exists already is never used and never dropped. Every
owner holds a named lock for as long as its connection lives, so that the next run can tell what a killed run
left.
"""

from __future__ import annotations

import secrets

from perdure.core.errors import EnvironmentUnavailable
from perdure.environments.database.server.link import Link, StatementRefused, quoted

_REGISTRY = "perdure_leases"
_DATABASE_EXISTS = 1007
_PRIVILEGES = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, CREATE TEMPORARY TABLES"
"""Enough for a task; no FILE, no PROCESS, no routines, no other database."""


class Lease:
    """One owner on one server, through the account that the address names.

    That account must be allowed to create databases and users, to grant, and to end queries of others.
    """

    def __init__(self, control: Link) -> None:
        self._control = control
        self.user = f"perdure_{secrets.token_hex(8)}"
        self.password = secrets.token_urlsafe(18)
        control.run("SELECT GET_LOCK(%s, 0)", self.user)
        control.run(f"CREATE DATABASE IF NOT EXISTS {_REGISTRY}")
        control.run(
            f"CREATE TABLE IF NOT EXISTS {_REGISTRY}.held "
            "(owner VARCHAR(64) NOT NULL, name VARCHAR(64) NOT NULL, PRIMARY KEY (owner, name))"
        )
        self._clear_abandoned()
        self._register("")
        control.run("CREATE USER %s@'%%' IDENTIFIED BY %s", self.user, self.password)

    def make(self, name: str) -> None:
        """A new database that the account may work in. Raises EnvironmentUnavailable when it is taken."""
        try:
            # Registered second: what is registered may be dropped, so it must be ours beyond doubt.
            self._control.run(f"CREATE DATABASE {quoted(name)} CHARACTER SET utf8mb4")
        except StatementRefused as refused:
            if refused.error.code != _DATABASE_EXISTS:
                raise
            message = f"the server has a database {name!r} already; use a server of the run's own"
            raise EnvironmentUnavailable(message) from None
        self._register(name)
        pattern = quoted(name.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%"))
        self._control.run(f"GRANT {_PRIVILEGES} ON {pattern}.* TO '{self.user}'@'%'")

    def remove(self, name: str) -> None:
        """Drop one database, and the right to it."""
        self._drop(self.user, name)
        self._control.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{self.user}'@'%'")

    def renew_password(self) -> None:
        """The account may change its own password; this sets it back."""
        self._control.run("ALTER USER %s@'%%' IDENTIFIED BY %s", self.user, self.password)

    def release(self) -> None:
        """Drop every database of this owner, then the account."""
        self._clear(self.user)
        self._control.run("SELECT RELEASE_LOCK(%s)", self.user)

    def _register(self, name: str) -> None:
        self._control.run(f"INSERT INTO {_REGISTRY}.held VALUES (%s, %s)", self.user, name)

    def _drop(self, owner: str, name: str) -> None:
        self._control.run(f"DROP DATABASE IF EXISTS {quoted(name)}")
        self._control.run(f"DELETE FROM {_REGISTRY}.held WHERE owner = %s AND name = %s", owner, name)

    def _clear_abandoned(self) -> None:
        owners = self._control.run(f"SELECT DISTINCT owner FROM {_REGISTRY}.held")
        for (owner,) in owners:
            if self._control.run("SELECT IS_FREE_LOCK(%s)", owner) == ((1,),):
                self._clear(str(owner))

    def _clear(self, owner: str) -> None:
        for (name,) in self._control.run(f"SELECT name FROM {_REGISTRY}.held WHERE owner = %s", owner):
            if name:
                self._drop(owner, str(name))
        self._control.run("DROP USER IF EXISTS %s@'%%'", owner)
        self._control.run(f"DELETE FROM {_REGISTRY}.held WHERE owner = %s", owner)
