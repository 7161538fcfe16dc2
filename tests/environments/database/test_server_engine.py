"""A real MariaDB server: what it leaves behind, who may do what, and what happens when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perdure.conformance.sql_engines import MAKERS, SHOP
from perdure.core.errors import EnvironmentUnavailable, MissingExtra
from perdure.core.types import Trial
from perdure.environments.database import DatabaseEnvironment
from perdure.environments.database.engine import Column, Table
from perdure.environments.database.server.bootstrap import find_server
from perdure.environments.database.server.engine import ServerEngine
from perdure.environments.database.server.link import Link
from perdure.environments.database.server.mariadb import MariadbServer

try:
    find_server()
except MissingExtra as absent:
    pytest.skip(str(absent), allow_module_level=True)


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    started = MariadbServer()
    yield started
    started.stop()


@pytest.fixture
def control(server: MariadbServer) -> Iterator[Link]:
    link = Link(server.address)
    yield link
    link.close()


@pytest.fixture
def shop(server: MariadbServer) -> Iterator[ServerEngine]:
    engine = ServerEngine(server.address, timeout=2.0)
    engine.create(SHOP)
    yield engine
    engine.close()


def databases(control: Link) -> set[object]:
    return {name for (name,) in control.run("SHOW DATABASES")}


def users(control: Link) -> set[object]:
    return {name for (name,) in control.run("SELECT user FROM mysql.user")}


def test_closing_leaves_nothing_on_the_server(server: MariadbServer, control: Link) -> None:
    before = users(control)
    engine = ServerEngine(server.address)
    engine.create(SHOP)
    assert "stock" in databases(control)
    assert len(users(control)) == len(before) + 1
    engine.close()
    engine.close()
    assert "stock" not in databases(control)
    assert users(control) == before


def test_a_database_of_somebody_else_is_neither_used_nor_dropped(
    server: MariadbServer, control: Link
) -> None:
    control.run("CREATE DATABASE precious")
    control.run("CREATE TABLE precious.precious AS SELECT 1 AS x")
    engine = ServerEngine(server.address)
    with pytest.raises(EnvironmentUnavailable, match="'precious' already"):
        engine.create(Table("precious", (Column("x", "INT"),)))
    engine.drop()
    engine.close()
    assert control.run("SELECT x FROM precious.precious") == ((1,),)
    control.run("DROP DATABASE precious")


def test_what_a_killed_run_left_is_cleared_by_the_next(server: MariadbServer, control: Link) -> None:
    abandoned = ServerEngine(server.address)
    abandoned.create(SHOP)
    account = abandoned._lease.user
    abandoned._shut()  # as the operating system does for a killed process
    limit = time.monotonic() + 10
    while control.run("SELECT IS_FREE_LOCK(%s)", account) != ((1,),) and time.monotonic() < limit:
        time.sleep(0.02)
    engine = ServerEngine(server.address)
    engine.create(SHOP)
    assert account not in users(control)
    assert engine.contents() == SHOP.rows
    engine.close()


def test_two_runs_do_not_touch_each_other(server: MariadbServer, shop: ServerEngine) -> None:
    other = ServerEngine(server.address)
    other.create(MAKERS)
    for sql in ("SELECT * FROM stock.stock", "DROP DATABASE stock", "USE stock"):
        assert other.execute(sql).error is not None
    assert shop.execute("SELECT * FROM makers.makers").error is not None
    other.close()
    assert shop.contents() == SHOP.rows


def test_underscores_of_a_name_are_no_wildcards(server: MariadbServer, control: Link) -> None:
    control.run("CREATE DATABASE myXtable")
    engine = ServerEngine(server.address)
    engine.create(Table("my_table", (Column("x", "INT"),)))
    error = engine.execute("CREATE TABLE myXtable.t (x INT)").error
    assert error is not None
    assert error.code in (1044, 1142)
    engine.close()
    control.run("DROP DATABASE myXtable")


def test_one_connection_serves_all_statements_and_tasks(shop: ServerEngine) -> None:
    first = shop.execute("SELECT CONNECTION_ID()").rows
    for _ in range(3):
        shop.drop()
        shop.create(SHOP)
        assert shop.execute("SELECT CONNECTION_ID()").rows == first


def test_an_agent_may_end_its_own_connection_but_not_the_run(shop: ServerEngine) -> None:
    assert shop.execute("KILL CONNECTION_ID()").error is not None
    shop.execute("SELECT 1")
    assert shop.execute("SELECT COUNT(*) FROM stock").rows == ((5,),)


def test_an_agent_that_changes_its_password_is_let_in_again(shop: ServerEngine) -> None:
    assert shop.execute("SET PASSWORD = PASSWORD('mine')").error is None
    shop.execute("KILL CONNECTION_ID()")
    shop.execute("SELECT 1")
    assert shop.execute("SELECT 1").rows == ((1,),)


def test_an_agent_that_drops_its_database_has_no_contents(shop: ServerEngine) -> None:
    assert shop.execute("DROP DATABASE stock").error is None
    assert shop.contents() is None
    shop.drop()
    shop.create(SHOP)
    assert shop.execute("SELECT DATABASE()").rows == (("stock",),)


def test_messages_do_not_name_the_account_of_this_run(shop: ServerEngine) -> None:
    error = shop.execute("SELECT * FROM mysql.user").error
    assert error is not None
    assert "'agent'@" in error.message
    assert "perdure" not in error.message


def test_an_open_transaction_does_not_hide_rows(shop: ServerEngine) -> None:
    shop.execute("SET autocommit = 0")
    shop.execute("DELETE FROM stock WHERE id > 2")
    assert shop.contents() == SHOP.rows[:2]


def test_a_dead_server_stops_the_run() -> None:
    server = MariadbServer()
    engine = ServerEngine(server.address, stop=server.stop)
    engine.create(SHOP)
    assert engine.execute("SELECT 1").rows == ((1,),)
    server.stop()
    with pytest.raises(EnvironmentUnavailable):
        engine.execute("SELECT 1")
    with pytest.raises(EnvironmentUnavailable):
        engine.contents()
    engine.close()


def test_a_wrong_password_is_not_repeated(server: MariadbServer) -> None:
    with pytest.raises(EnvironmentUnavailable) as raised:
        ServerEngine(replace(server.address, password="s3cret"))
    assert "s3cret" not in str(raised.value)


_CHILD = """
import sys, time
from perdure.environments.database.server.mariadb import MariadbServer
server = MariadbServer()
print(server.address.socket, flush=True)
time.sleep(600)
"""


def test_the_private_server_dies_with_its_parent(server: MariadbServer) -> None:
    source = str(Path(__file__).parents[3] / "src")
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert child.stdout is not None
    socket = Path(child.stdout.readline().strip())
    assert socket.exists()
    number = int((socket.parent / "pid").read_text())
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    limit = time.monotonic() + 20
    while (socket.parent.exists() or Path(f"/proc/{number}").exists()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not socket.parent.exists()
    assert not Path(f"/proc/{number}").exists()


def test_a_run_on_a_server_by_url(server: MariadbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PASSWORD", server.address.password)
    environment = DatabaseEnvironment(
        engine="mysql",
        engine_url=f"mysql://{server.address.user}@localhost/?unix_socket={server.address.socket}",
        engine_password_env="MY_PASSWORD",
    )
    task = next(t for t in environment._tasks.values() if t.md5 is not None)
    environment.reset(Trial(task.id))
    assert environment.interact(f"Action: Operation\n```sql\n{task.sql}\n```").accepted
    evaluation = environment.complete()
    assert evaluation.reward == 1.0
    assert evaluation.detail["hash_matches"] is True
    environment.release()
