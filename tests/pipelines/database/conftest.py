from __future__ import annotations

import getpass
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.environments.database.engine import Row, SqlError, SqlReply, Table, five_digit_hash

SYSTEM_SCRIPTS = Path("/usr/share/mysql")
MYSQL_8_MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)


class MariaDbEngine:
    """A real server of the MySQL family behind the engine contract."""

    def __init__(self, socket: Path) -> None:
        import pymysql

        self._errors = pymysql.err.MySQLError
        self._connection: Any = pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)
        self._table: Table | None = None

    def create(self, table: Table) -> None:
        if self._table is None:
            self._run(f"CREATE OR REPLACE DATABASE `{table.name}`")
            self._run(f"USE `{table.name}`")
            self._table = table
        columns = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
        self._run(f"CREATE TABLE `{table.name}` ({columns})")
        marks = ", ".join(["%s"] * len(table.columns))
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO `{table.name}` VALUES ({marks})", table.rows)

    def execute(self, sql: str) -> SqlReply:
        try:
            with self._connection.cursor() as cursor:
                affected = cursor.execute(sql)
                is_mutation = cursor.description is None
                return SqlReply(tuple(cursor.fetchall()), is_mutation=is_mutation, affected=affected)
        except self._errors as error:
            return SqlReply(error=SqlError(int(error.args[0]), "HY000", str(error.args[1])))

    def contents(self) -> tuple[Row, ...] | None:
        assert self._table is not None
        columns = ", ".join(f"`{column.name}`" for column in self._table.columns)
        reply = self.execute(f"SELECT {columns} FROM `{self._table.name}`")
        return None if reply.error else reply.rows

    def state_hash(self) -> str | None:
        rows = self.contents()
        return None if rows is None else five_digit_hash(rows)

    def drop(self) -> None:
        if self._table is not None:
            self._run(f"DROP DATABASE `{self._table.name}`")
            self._table = None

    def close(self) -> None:
        self._connection.close()

    def _run(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)


def _bootstrap(folder: Path, common: list[str]) -> None:
    names = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")
    script = "".join(
        ["create database mysql;\nuse mysql;\n", *((SYSTEM_SCRIPTS / n).read_text() for n in names)]
    )
    subprocess.run(
        [*common, "--bootstrap"],
        input=script.encode(),
        check=True,
        capture_output=True,
        cwd=folder,
        timeout=60,
    )


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDbEngine]:
    server = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    if server is None or not (SYSTEM_SCRIPTS / "mysql_system_tables.sql").exists():
        pytest.skip("mariadbd is not installed (Debian: mariadb-server-core)")
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    folder = tmp_path_factory.mktemp("db")
    data, socket = folder / "data", folder / "s"
    data.mkdir()
    common = [
        server, "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={data}",
        f"--lc-messages-dir={SYSTEM_SCRIPTS}",
    ]  # fmt: skip
    _bootstrap(folder, common)
    options = ["--skip-networking", "--skip-grant-tables", f"--socket={socket}", f"--sql-mode={MYSQL_8_MODE}"]
    with subprocess.Popen(
        [*common, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + 30
            while not socket.exists():
                assert process.poll() is None, "mariadbd ended before it listened"
                assert time.monotonic() < deadline, "mariadbd does not listen"
                time.sleep(0.02)
            engine = MariaDbEngine(socket)
            yield engine
            engine.close()
        finally:
            process.terminate()
