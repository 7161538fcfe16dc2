from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from perdure.environments.database.engine import Column, Table
from perdure.environments.database.sqlite.engine import SqliteEngine


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '{path}' AS other",
        "DETACH DATABASE main",
        "VACUUM INTO '{path}'",
        "PRAGMA database_list",
        "SELECT load_extension('{path}')",
        "SELECT readfile('{path}')",
        "SELECT writefile('{path}', 'x')",
        "SELECT * FROM stock INTO OUTFILE '{path}'",
        "SELECT * INTO DUMPFILE '{path}' FROM stock",
        "LOAD DATA INFILE '{path}' INTO TABLE stock",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_info('stock')",
        "CREATE VIRTUAL TABLE v USING csv('{path}')",
        "CREATE TRIGGER t AFTER INSERT ON stock FOR EACH ROW SET @a = 1",
        "CREATE DATABASE other",
        "DROP DATABASE stock",
        "GRANT ALL ON *.* TO 'x'",
        "SHUTDOWN",
    ],
)
def test_nothing_leaves_the_database(shop: SqliteEngine, tmp_path: Path, sql: str) -> None:
    path = tmp_path / "out"
    assert shop.execute(sql.format(path=path)).error is not None
    assert list(tmp_path.iterdir()) == []
    assert shop.contents() is not None


def test_files_are_not_read(shop: SqliteEngine) -> None:
    assert shop.execute("SELECT LOAD_FILE('/etc/passwd')").rows == ((None,),)


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH ':memory:' AS x",
        "PRAGMA user_version",
        "SELECT load_extension('x')",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_sqlite_itself_refuses_too(shop: SqliteEngine, sql: str) -> None:
    """Whatever slipped through the dialect would meet the authorizer."""
    with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
        shop._connection.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
        "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f WHERE a.x + b.x + c.x + d.x + e.x + f.x < 0",
        "SELECT a.x FROM t a, t b, t c, t d, t e ORDER BY MD5(CONCAT(a.x, b.x, c.x, d.x, e.x))",
        "DELETE FROM t WHERE x IN (SELECT z FROM (SELECT a.x + b.x + c.x + d.x AS z FROM t a, t b, t c, "
        "t d, t e WHERE a.x < 0 OR b.x < 0 OR c.x < 0 OR d.x < 0 OR e.x < 0) AS q)",
    ],
)
def test_a_runaway_statement_is_stopped(sql: str) -> None:
    engine = SqliteEngine(timeout=0.3)
    engine.create(Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
    started = time.monotonic()
    error = engine.execute(sql).error
    assert error is not None
    assert error.code == 3024
    assert time.monotonic() - started < 30
    assert engine.execute("SELECT COUNT(*) FROM t").rows == ((60,),)
    engine.close()


def test_a_large_result_is_cut_and_says_so() -> None:
    engine = SqliteEngine(max_rows=100)
    engine.create(Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
    reply = engine.execute("SELECT a.x, b.x FROM t a, t b")
    assert len(reply.rows) == 100
    assert reply.truncated
    assert not engine.execute("SELECT x FROM t").truncated
    engine.close()


def test_wide_rows_are_cut_by_their_size() -> None:
    engine = SqliteEngine()
    engine.create(Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
    reply = engine.execute("SELECT REPEAT('x', 900000) FROM t")
    assert reply.truncated
    assert len(reply.rows) < 30
    engine.close()


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE TABLE big AS SELECT REPEAT('x', 60000) AS a FROM t a, t b", 1206),
        ("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' REGEXP '^(a+)+$'", 3699),
        ("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' REGEXP '^(a|aa)+$'", 3699),
        ("SELECT REPEAT('a', 100000) REGEXP 'a*b'", 3699),
        ("SELECT REPEAT('a', 30) REGEXP CONCAT(REPEAT('a?', 30), REPEAT('a', 30))", 3699),
        ("SELECT 'x' REGEXP '('", 3685),
        ("SELECT REPEAT('a', 900000) LIKE CONCAT('%', REPEAT('a', 800000), 'b')", 3024),
        ("SELECT LENGTH(TRIM('a' FROM REPEAT('a', 900000)))", None),
        ("SELECT COUNT(DISTINCT REPEAT(CONCAT(a.x, b.x), 100000)) FROM t a, t b", 3024),
        ("INSERT INTO note VALUES (REPEAT('x', 70000))", 1406),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, 1064),
        ("SELECT " + "NOT " * 3000 + "1", 1064),
        ("SELECT '" + "x" * 300_000 + "'", 1153),
        ("SELECT '\ud800'", 1300),
        (
            "SELECT EXP(1000) * EXP(1000), 9223372036854775807 + 9223372036854775807 + NULL, POW(10, 400)",
            None,
        ),
    ],
)
def test_hostile_statements_are_answers(sql: str, code: int | None) -> None:
    engine = SqliteEngine(timeout=5.0)
    engine.create(Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
    engine.create(Table("note", (Column("body", "TEXT"),)))
    error = engine.execute(sql).error
    assert (error.code if error is not None else None) == code
    engine.close()


def test_an_endless_insert_meets_a_full_table() -> None:
    engine = SqliteEngine(timeout=60.0)
    engine.create(Table("t", (Column("x", "TEXT"),), tuple(("x" * 60_000,) for _ in range(20))))
    errors = [engine.execute("INSERT INTO t SELECT * FROM t").error for _ in range(9)]
    assert errors[0] is None
    last = errors[-1]
    assert last is not None
    assert last.code in (1114, 1206)
    assert engine.execute("SELECT COUNT(*) FROM t").rows
    engine.close()
