"""The SQL engine on a real server: one connection for the agent's statements, one to control them."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.environments.database.engine import Row, SqlError, SqlReply, Table, five_digit_hash, random_seeds
from perdure.environments.database.server.address import Address
from perdure.environments.database.server.deadline import Deadline
from perdure.environments.database.server.lease import Lease
from perdure.environments.database.server.link import (
    ConnectionLost,
    Link,
    StatementRefused,
    as_user,
    quoted,
)

MAX_STATEMENT = 200_000
"""Longest statement in characters, as in the embedded engine."""
_MAX_CHARACTERS = 16_000_000
"""Most characters that one result set may hold in memory."""
_GRACE = 10.0
"""Seconds after which a statement that does not heed KILL QUERY loses its connection."""
_ADMIN_TIMEOUT = 60.0
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_ ,()'.-]*\Z")
_INTERRUPTED = SqlError(
    3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded"
)
_KILLED = 1317
_LAST_INSTANT = 2**31 - 1
"""Of the session variable `timestamp`, in seconds since 1970."""
_SHOWN_USER = "agent"
"""Stands in texts for the account, whose name differs from run to run."""
_LOST = SqlError(2013, "HY000", "Lost connection to MySQL server during query")
_Result = TypeVar("_Result")


class ServerEngine:
    """`SqlEngine` on the server at an address. Not safe for use by two threads at once.

    `timeout` in seconds ends a statement on the server; `max_rows` bounds what one result set hands out;
    `stop` is called last by `close`, to end a server that is this engine's own. Raises
    EnvironmentUnavailable when the server is gone, MissingExtra without the driver.
    """

    def __init__(
        self,
        address: Address,
        *,
        timeout: float = 5.0,
        max_rows: int = 10_000,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._max_rows = max_rows
        self._stop = stop
        self._table: Table | None = None
        self._agent: Link | None = None
        self._control: Link | None = None
        self._present: tuple[float, int, int] | None = None
        try:
            self._control = Link(address, read_timeout=_ADMIN_TIMEOUT)
            self._lease = Lease(self._control)
        except StatementRefused as refused:
            self._shut()
            raise EnvironmentUnavailable(f"database server {address}: {refused}") from None
        except BaseException:
            self._shut()
            raise

    def begin(self, clock: datetime, seed: int) -> None:
        """Give statements this as the present, and draw their chance from this, as far as the server lets.

        Raises ConfigError for an instant that no server can be told: it would tell another one, silently.
        """
        if not 0 < clock.timestamp() <= _LAST_INSTANT:
            told = f"clock: a database server tells instants from 1970 to 2038 (got {clock.isoformat()})"
            raise ConfigError(told)
        self._present = (clock.timestamp(), *random_seeds(seed))
        if self._agent is not None:
            self._guarded(lambda: self._stand_still(self._agent_link()))

    def create(self, table: Table) -> None:
        """Add a table and fill it. Raises ValueError for rows its columns cannot hold."""
        self._guarded(lambda: self._create(table))

    def execute(self, sql: str) -> SqlReply:
        """Run one statement as the account of few rights. Never raises for bad SQL."""
        if len(sql) > MAX_STATEMENT:
            return _failed(SqlError(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes"))
        try:
            sql.encode()
        except UnicodeEncodeError:
            return _failed(SqlError(1300, "HY000", "Invalid utf8mb4 character string"))
        try:
            link = self._agent_link()
            with Deadline(self._timeout, lambda: self._kill_query(link)) as deadline:
                reply = self._ask(link, sql, deadline)
            if deadline.passed:
                self._take_late_kill(link)
                reply = _failed(_INTERRUPTED)
            if link.in_transaction:
                link.run("COMMIT")  # each statement stands for itself
        except ConnectionLost:
            return self._after_loss()
        return reply

    def contents(self) -> tuple[Row, ...] | None:
        """The declared columns of the task's table, in table order; None when any of them is gone."""
        table = self._table
        if table is None:
            return None
        columns = ", ".join(quoted(column.name) for column in table.columns)
        source = f"{quoted(table.name)}.{quoted(table.name)}"
        try:
            return self._guarded(lambda: self._admin().run(f"SELECT {columns} FROM {source}"))
        except StatementRefused as refused:
            if refused.error.code in (1049, 1054, 1146):
                return None
            raise EnvironmentUnavailable(f"database server {self._address}: {refused}") from None

    def state_hash(self) -> str | None:
        """The published hash of `contents`."""
        rows = self.contents()
        return None if rows is None else five_digit_hash(rows)

    def drop(self) -> None:
        """Drop the task's database, and forget everything the agent did to its session."""
        table, self._table = self._table, None
        if table is not None:
            self._guarded(lambda: self._leave(table.name))

    def close(self) -> None:
        """Drop what is ours on the server and close both connections."""
        if self._control is None:
            return
        try:
            self._lease.release()
        except (ConnectionLost, StatementRefused):
            pass  # the server is gone, or going: the next run clears what is left
        finally:
            self._shut()

    # -- the connections

    def _admin(self) -> Link:
        if self._control is None:
            raise EnvironmentUnavailable(f"database server {self._address}: the engine is closed")
        return self._control

    def _agent_link(self) -> Link:
        if self._agent is None:
            control = self._admin()
            self._lease.renew_password()
            account = as_user(self._address, self._lease.user, self._lease.password)
            self._agent = Link(account, read_timeout=self._timeout + _GRACE)
            self._agent.prepare(self._table.name if self._table is not None else None)
            self._stand_still(self._agent)
            control.run("DO 0")
        return self._agent

    def _stand_still(self, link: Link) -> None:
        if self._present is None:
            return
        clock, one, two = self._present
        for setting, values in (
            ("time_zone = '+00:00'", ()),
            ("timestamp = %s", (clock,)),
            ("rand_seed1 = %s, rand_seed2 = %s", (one, two)),
        ):
            with suppress(StatementRefused):  # an account that may not set it is told the time of day
                link.run(f"SET SESSION {setting}", *values)

    def _kill_query(self, link: Link) -> None:
        self._admin().run(f"KILL QUERY {link.id}")

    def _after_loss(self) -> SqlReply:
        """The agent's connection is gone: fatal if the server is, an error of the statement if not."""
        lost, self._agent = self._agent, None
        if lost is not None:
            lost.close()
            self._guarded(lambda: self._end_connection(lost.id))
        return _failed(_LOST)

    def _end_connection(self, number: int) -> None:
        try:
            self._admin().run(f"KILL {number}")
        except StatementRefused:
            self._admin().run("DO 0")  # it has ended already

    def _shut(self) -> None:
        for link in (self._agent, self._control):
            if link is not None:
                link.close()
        self._agent = self._control = None
        if self._stop is not None:
            self._stop()

    def _guarded(self, work: Callable[[], _Result]) -> _Result:
        """Our own statements: a lost connection means that the server is gone."""
        try:
            return work()
        except ConnectionLost as lost:
            raise EnvironmentUnavailable(f"database server {self._address}: {lost}") from None

    # -- one task

    def _create(self, table: Table) -> None:
        for column in table.columns:
            if not _TYPE.match(column.type):
                raise ValueError(f"table {table.name!r}: column {column.name!r} has type {column.type!r}")
        fresh = self._table is None
        database = table.name if self._table is None else self._table.name
        try:
            if fresh:
                self._lease.make(database)
                self._table = table
            self._write(database, table)
        except StatementRefused as refused:
            raise ValueError(f"table {table.name!r}: {refused}") from refused
        if fresh and self._agent is not None:
            self._agent.run(f"USE {quoted(database)}")

    def _write(self, database: str, table: Table) -> None:
        control = self._admin()
        name = f"{quoted(database)}.{quoted(table.name)}"
        columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in table.columns)
        control.run(f"CREATE TABLE {name} ({columns})")
        if table.rows:
            marks = ", ".join(["%s"] * len(table.columns))
            control.fill(f"INSERT INTO {name.replace('%', '%%')} VALUES ({marks})", table.rows)

    def _leave(self, database: str) -> None:
        if self._agent is not None:
            try:
                self._agent.reset(None)
            except ConnectionLost:
                self._after_loss()
        self._lease.remove(database)

    def _ask(self, link: Link, sql: str, deadline: Deadline) -> SqlReply:
        try:
            return self._read(link, link.open_result(sql), deadline)
        except StatementRefused as refused:
            error = refused.error
            return _failed(replace(error, message=self._without_account(error.message)))

    def _read(self, link: Link, cursor: Any, deadline: Deadline) -> SqlReply:
        if cursor.description is None:
            return SqlReply(is_mutation=True, affected=max(cursor.rowcount, 0))
        rows: list[Row] = []
        size, truncated = 0, False
        while (row := link.fetch(cursor)) is not None:
            if len(rows) == self._max_rows or size > _MAX_CHARACTERS:
                truncated = True
                deadline.strike()  # what is left of the result need not be computed
                break
            size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
            rows.append(tuple(self._without_account(c) if isinstance(c, str) else c for c in row))
        names = tuple(str(item[0]) for item in cursor.description)
        link.close_result(cursor)
        if truncated:
            self._take_late_kill(link)
        return SqlReply(rows=tuple(rows), columns=names, truncated=truncated)

    def _without_account(self, text: str) -> str:
        return text.replace(self._lease.user, _SHOWN_USER)

    def _take_late_kill(self, link: Link) -> None:
        """Take the kill that may have come after the statement's end."""
        try:
            link.run("DO 0")
        except StatementRefused as refused:
            if refused.error.code != _KILLED:
                raise EnvironmentUnavailable(f"database server {self._address}: {refused}") from None


def _failed(error: SqlError) -> SqlReply:
    return SqlReply(error=error)
