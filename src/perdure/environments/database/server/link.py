"""One connection to a server, with the server's errors as data and its absence as an exception."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perdure.core.errors import EnvironmentUnavailable
from perdure.core.installation import add_extras, import_optional
from perdure.environments.database.engine import Row, SqlError
from perdure.environments.database.server.address import Address

MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)
"""MySQL 8's default `sql_mode`."""
CONNECT_SECONDS = 10
_IDLE_SECONDS = 2_592_000
"""A month: an agent may think for longer than the server's usual eight hours."""
LOST = frozenset({2000, 2002, 2003, 2006, 2013, 2014, 2055, 1053, 1927, 0})
"""Errors after which a connection is of no more use; 0 is the driver's for a closed one."""
_RESET_CONNECTION = 0x1F
"""COM_RESET_CONNECTION: session variables, temporary tables, locks and the transaction are gone."""


class ConnectionLost(Exception):
    """The connection broke; whether the server is gone is for the caller to find out."""


class StatementRefused(Exception):
    """The server answered with an error."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(str(error))
        self.error = error


def quoted(name: str) -> str:
    """An identifier in MySQL's quotes."""
    return "`" + name.replace("`", "``") + "`"


class Link:
    """One open connection of one account. Not safe for two threads at once.

    Raises EnvironmentUnavailable when the server cannot be reached, MissingExtra without the driver.
    """

    def __init__(self, address: Address, *, read_timeout: float = 60.0) -> None:
        pymysql = import_optional("pymysql", "the MySQL client", add_extras("mysql"))
        self._errors = pymysql.err.MySQLError
        options: dict[str, Any] = {"ssl": address.tls} if address.tls is not None else {}
        if address.socket is not None:
            options["unix_socket"] = address.socket
        try:
            if address.socket is not None:
                knock(address.socket)
            self._connection = pymysql.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                password=address.password,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                read_timeout=read_timeout,
                write_timeout=read_timeout,
                local_infile=False,
                **options,
            )
        except (self._errors, RuntimeError, OSError) as error:
            raise EnvironmentUnavailable(f"database server {address}: {_message(error)}") from None
        try:
            self.prepare()
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> int:
        """The server's number of this connection."""
        return int(self._connection.thread_id())

    def prepare(self, database: str | None = None) -> None:
        """MySQL 8's mode, and the database to work in."""
        self.run("SET SESSION sql_mode = %s, wait_timeout = %s", MODE, _IDLE_SECONDS)
        if database is not None:
            self.run(f"USE {quoted(database)}")

    def reset(self, database: str | None) -> None:
        """A session as new, without a new connection."""
        try:
            self._connection._execute_command(_RESET_CONNECTION, b"")
            self._connection._read_ok_packet()
        except (self._errors, OSError) as error:
            raise self._failure(error) from None
        self.run("SET NAMES utf8mb4")
        self.prepare(database)

    def run(self, sql: str, *values: object) -> tuple[Row, ...]:
        """All rows of one of our own statements. Raises StatementRefused or ConnectionLost."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, values or None)
                return tuple(cursor.fetchall())
        except (self._errors, OSError) as error:
            raise self._failure(error) from None

    def fill(self, sql: str, rows: Sequence[Row]) -> None:
        """One INSERT of many rows. Raises StatementRefused or ConnectionLost."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql, rows)
        except (self._errors, OSError) as error:
            raise self._failure(error) from None

    def open_result(self, sql: str) -> Any:
        """An unbuffered cursor on the result of a statement. Raises StatementRefused or ConnectionLost."""
        from pymysql.cursors import SSCursor

        cursor = SSCursor(self._connection)
        try:
            cursor.execute(sql)
        except (self._errors, OSError) as error:
            raise self._failure(error) from None
        return cursor

    def fetch(self, cursor: Any) -> Row | None:
        """The next row, or None. Raises StatementRefused or ConnectionLost."""
        try:
            row: Row | None = cursor.fetchone()
        except (self._errors, OSError) as error:
            raise self._failure(error) from None
        return row

    def close_result(self, cursor: Any) -> None:
        """Read what is left of a result, however it ends. Raises ConnectionLost."""
        try:
            cursor.close()
        except (self._errors, OSError) as error:
            failure = self._failure(error)
            if isinstance(failure, ConnectionLost):
                raise failure from None

    @property
    def in_transaction(self) -> bool:
        """The last statement left a transaction open."""
        return bool(self._connection.server_status & 1)

    def close(self) -> None:
        """Say goodbye, if somebody listens."""
        if self._connection.open:
            try:
                self._connection.close()
            except (self._errors, OSError):
                self._connection._force_close()

    def _failure(self, error: Exception) -> StatementRefused | ConnectionLost:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if isinstance(error, OSError) or code in LOST:
            return ConnectionLost(_message(error))
        return StatementRefused(server_error(code, _message(error)))


def knock(path: str) -> None:
    """Raise OSError when nobody listens: the driver would leave its half-made socket open."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_SECONDS)
        probe.connect(path)


def _message(error: Exception) -> str:
    return str(error.args[1] if len(error.args) > 1 else error)


# fmt: off
_STATES = {
    "42000": (
        1044, 1055, 1056, 1059, 1061, 1063, 1064, 1065, 1066, 1068, 1069, 1070, 1072, 1074,
        1075, 1090, 1091, 1101, 1103, 1104, 1110, 1112, 1113, 1118, 1140, 1141, 1142, 1143,
        1144, 1149, 1171, 1172, 1176, 1203, 1226, 1227, 1230, 1231, 1232, 1234, 1235, 1239,
        1248, 1250, 1253, 1273, 1286, 1305, 1318, 1337, 1370, 1410, 1582, 1583, 1584, 1630,
        1049, 1102, 1106, 1120, 1162, 1163, 1164,
    ),
    "42S02": (1051, 1109, 1146),
    "42S22": (1054, 1247),
    "42S21": (1060,),
    "42S01": (1050,),
    "21000": (1222, 1241, 1242),
    "21S01": (1058, 1136),
    "22001": (1406,),
    "22003": (1264, 1690),
    "22007": (1292,),
    "22012": (1365,),
    "22004": (1263,),
    "23000": (1022, 1048, 1052, 1062, 1169, 1216, 1217, 1451, 1452, 1557, 1586, 1761, 1762),
    "28000": (1045,),
    "40001": (1213,),
    "08S01": (1043, 1047, 1053, 1080, 1081, 1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161),
    "70100": (1317,),
    "70000": (1119, 1194),
}
# fmt: on
_STATE_OF = {code: state for state, codes in _STATES.items() for code in codes}
_MARIADB_HINT = re.compile(r"\bMariaDB\b")


def server_error(code: int, message: str) -> SqlError:
    """An error with its SQLSTATE, which the driver drops (MySQL 8 reference, server error messages)."""
    return SqlError(code, _STATE_OF.get(code, "HY000"), _MARIADB_HINT.sub("MySQL", message))


def as_user(address: Address, user: str, password: str) -> Address:
    """Another account at the same address."""
    return replace(address, user=user, password=password)
