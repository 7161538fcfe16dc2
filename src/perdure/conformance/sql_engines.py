"""What every SQL engine of the database environment must do, tried on an open one that holds nothing.

The checks hold on MySQL 8, on MariaDB with MySQL 8's `sql_mode` and on the embedded engine; where MariaDB
differs from MySQL, nothing is asked (`docs/howto/databases.md` lists the differences).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from perdure.conformance.checks import require, run_checks, shorten
from perdure.conformance.result import CheckResult
from perdure.environments.database.engine import (
    Column,
    Row,
    SqlEngine,
    SqlReply,
    Table,
    Value,
    five_digit_hash,
)

_COLUMNS = (Column("id", "INT"), Column("name", "TEXT"), Column("price", "INT"), Column("maker", "INT"))
_ROWS: tuple[Row, ...] = (
    (1, "Lamp", 30, 7),
    (2, "desk", 120, 7),
    (3, "Chair", 45, 8),
    (4, "lamp", 55, 8),
    (5, "rug", 45, None),
)
SHOP = Table("stock", _COLUMNS, _ROWS)
MAKERS = Table("makers", (Column("maker", "INT"), Column("town", "TEXT")), ((7, "Oslo"), (8, "Bergen")))

ERRORS: tuple[tuple[int, str], ...] = (
    (1065, ""),
    (1064, "SELEC * FROM stock"),
    (1064, "SELECT * FROM stock WHERE"),
    (1064, "SELECT 1; DROP TABLE stock"),
    (1146, "SELECT * FROM nowhere"),
    (1146, "SELECT nothing FROM nowhere"),
    (1054, "SELECT colour FROM stock"),
    (1054, "SELECT id FROM stock WHERE colour = 1"),
    (1054, "UPDATE stock SET colour = 1"),
    (1052, "SELECT maker FROM stock JOIN makers ON stock.maker = makers.maker"),
    (1111, "SELECT id FROM stock WHERE SUM(price) > 1"),
    (1055, "SELECT name, COUNT(*) FROM stock GROUP BY maker"),
    (1242, "SELECT (SELECT id FROM stock)"),
    (1241, "SELECT (SELECT id, price FROM stock)"),
    (1235, "SELECT id FROM stock WHERE id IN (SELECT id FROM stock LIMIT 1)"),
    (1066, "SELECT 1 FROM stock, stock"),
    (1136, "INSERT INTO stock VALUES (1)"),
    (1366, "UPDATE stock SET price = 'dear'"),
    (1264, "UPDATE stock SET price = 99999999999"),
    (1050, "CREATE TABLE stock (a INT)"),
    (1222, "SELECT 1 UNION SELECT 1, 2"),
)
"""MySQL's code for a statement; the same on every engine."""

_ESCAPES = (
    "SELECT * FROM mysql.user",
    "SELECT 1 INTO OUTFILE '/tmp/perdure-conformance'",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE stock",
    "CREATE DATABASE elsewhere",
    "DROP DATABASE mysql",
    "USE mysql",
    "GRANT ALL ON *.* TO 'someone'",
    "CREATE USER someone",
    "SHUTDOWN",
    "SET GLOBAL max_connections = 1",
    "ATTACH DATABASE '/tmp/perdure-conformance' AS other",
    "PRAGMA database_list",
)
_RUNAWAYS = (
    "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g "
    "WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x < 0",
    "DELETE FROM t WHERE x IN (SELECT z FROM (SELECT MAX(a.x + b.x + c.x + d.x + e.x + f.x + g.x) AS z "
    "FROM t a, t b, t c, t d, t e, t f, t g) AS q)",
)
_PATIENCE = 30.0
"""Seconds within which a runaway statement has ended, whatever the engine's timeout up to 10 s."""


def check_engine(engine: SqlEngine) -> Iterator[CheckResult]:
    """Run every check. The engine should have a timeout of a second or two; it stays open and empty."""
    yield from run_checks(engine, CHECKS)
    engine.drop()


def is_an_engine(engine: SqlEngine) -> str:
    """It has the methods of the contract."""
    require(isinstance(engine, SqlEngine), "needs create, execute, contents, state_hash, drop and close")
    return "has the six methods"


def an_empty_engine_has_no_contents(engine: SqlEngine) -> str:
    """Before the first table there is nothing, and dropping it twice is fine."""
    engine.drop()
    engine.drop()
    require(engine.contents() is None and engine.state_hash() is None, "contents without a table")
    return "None"


def rows_come_back_in_order(engine: SqlEngine) -> str:
    """Contents and results give the rows as they were put in, with their types."""
    rows: tuple[Row, ...] = (
        (3, 'it\'s "quoted" \\ and % done', 0, -1),
        (1, "😀 Grüße 你好", 2**31 - 1, None),
        (2, "", -(2**31), 0),
        (1, None, None, None),
    )
    _open(engine, Table("stock", _COLUMNS, rows))
    require(engine.contents() == rows, f"contents are {engine.contents()!r}")
    _expect(engine, "SELECT * FROM stock", rows)
    return f"{len(rows)} rows"


def hash_is_the_published_one(engine: SqlEngine) -> str:
    """The hash is that of the contents, whatever their order; of an empty table it is `None`."""
    _open(engine, SHOP)
    first = engine.state_hash()
    require(first == five_digit_hash(_ROWS), f"the hash is {first}")
    _open(engine, Table("stock", _COLUMNS, _ROWS[::-1]))
    require(engine.state_hash() == first, "the hash depends on the order of rows")
    _run(engine, "DELETE FROM stock")
    require(engine.state_hash() == "None", f"the hash of no rows is {engine.state_hash()!r}")
    return str(first)


def missing_parts_have_no_hash(engine: SqlEngine) -> str:
    """Without a declared column, or without the table, there are no contents to grade."""
    for change in ("ALTER TABLE stock DROP COLUMN name", "DROP TABLE stock"):
        _open(engine, SHOP)
        _run(engine, change)
        require(engine.contents() is None and engine.state_hash() is None, f"contents after {change}")
    return "None"


def rows_that_do_not_fit_are_refused(engine: SqlEngine) -> str:
    """`create` raises ValueError, and the engine can be used again."""
    engine.drop()
    try:
        engine.create(Table("stock", _COLUMNS, ((1, "a", "many", 2),)))
    except ValueError as error:
        _open(engine, SHOP)
        return shorten(str(error))
    return _fail("an INT column took 'many'")


def numbers_follow_mysql(engine: SqlEngine) -> str:
    """Assigned halves round away from zero; AVG and `/` add four decimals; SUM of INT is exact."""
    _open(engine, SHOP)
    _expect(engine, "SELECT AVG(price), SUM(price) FROM stock", ((Decimal("59.0000"), Decimal(295)),))
    _expect(engine, "SELECT id / 3 FROM stock WHERE id = 1", ((Decimal("0.3333"),),))
    _run(engine, "UPDATE stock SET price = price * 0.5 WHERE id IN (3, 4)")
    _expect(engine, "SELECT price FROM stock WHERE id IN (3, 4) ORDER BY id", ((23,), (28,)))
    return "rounding, AVG, SUM, division"


def text_follows_mysql(engine: SqlEngine) -> str:
    """Text compares without regard to case; a text beside a number is a number; quotes of both kinds."""
    _open(engine, SHOP)
    _expect(engine, "SELECT id FROM stock WHERE name = 'LAMP' ORDER BY id", ((1,), (4,)))
    _expect(engine, 'SELECT COUNT(*) FROM stock WHERE name = "rug" AND id = "5"', ((1,),))
    _expect(engine, "SELECT COUNT(DISTINCT name) FROM stock", ((4,),))
    _expect(engine, "SELECT GROUP_CONCAT(id ORDER BY id DESC SEPARATOR '-') FROM stock", (("5-4-3-2-1",),))
    return "comparison, quotes, GROUP_CONCAT"


def changes_follow_mysql(engine: SqlEngine) -> str:
    """Changes over joins, with ORDER BY and LIMIT; each says that it is one, and how many rows it met."""
    _open(engine, SHOP, MAKERS)
    joined = (
        "UPDATE stock s JOIN makers m ON s.maker = m.maker SET s.price = s.price + 1 WHERE m.town = 'Oslo'"
    )
    for sql, affected in (
        (joined, 2),
        ("DELETE s FROM stock s JOIN makers m ON s.maker = m.maker WHERE m.town = 'Bergen'", 2),
        ("INSERT INTO stock (id, name) VALUES (6, 'mat'), (7, 'bed')", 2),
        ("DELETE FROM stock ORDER BY id DESC LIMIT 1", 1),
    ):
        reply = _run(engine, sql)
        require(reply.is_mutation and not reply.rows, f"not a change: {sql}")
        require(reply.affected == affected, f"{reply.affected} rows affected by {sql}")
    expected = ((1, "Lamp", 31, 7), (2, "desk", 121, 7), (5, "rug", 45, None), (6, "mat", None, None))
    require(engine.contents() == expected, f"contents are {engine.contents()!r}")
    return "joins, ORDER BY, LIMIT, affected rows"


def every_statement_commits(engine: SqlEngine) -> str:
    """What a change did stays, also after START TRANSACTION and ROLLBACK."""
    _open(engine, SHOP)
    for sql in ("START TRANSACTION", "DELETE FROM stock WHERE id > 1", "ROLLBACK"):
        _run(engine, sql)
    require(engine.contents() == _ROWS[:1], f"contents are {engine.contents()!r}")
    return "no statement is undone"


def errors_have_mysqls_codes(engine: SqlEngine) -> str:
    """A bad statement is a reply with MySQL's code, without rows, and changes nothing."""
    _open(engine, SHOP, MAKERS)
    for code, sql in ERRORS:
        reply = engine.execute(sql)
        require(reply.error is not None and not reply.rows, f"no error: {sql!r}")
        found = reply.error.code if reply.error is not None else 0
        require(found == code, f"error {found} instead of {code}: {sql!r}")
    require(engine.contents() == _ROWS, "a bad statement changed the table")
    return f"{len(ERRORS)} codes"


def hostile_text_is_a_reply(engine: SqlEngine) -> str:
    """Surrogates, control characters, deep nesting and a megabyte are answered like anything else."""
    _open(engine, SHOP)
    for sql in (
        "SELECT '\ud800'",
        "\x00",
        "\x1b[2J",
        "(" * 5_000,
        "SELECT " + "1," * 500_000 + "1",
        "'",
        "/*",
    ):
        require(isinstance(engine.execute(sql), SqlReply), f"no reply to {shorten(sql)}")
    require(engine.contents() == _ROWS, "hostile text changed the table")
    return "seven texts"


def nothing_leaves_the_database(engine: SqlEngine) -> str:
    """Other databases, files, accounts and the server itself are out of reach."""
    _open(engine, SHOP)
    for sql in _ESCAPES:
        require(engine.execute(sql).error is not None, f"was carried out: {sql}")
    _expect(engine, "SELECT LOAD_FILE('/etc/passwd')", ((None,),))
    require(engine.contents() == _ROWS, "an attempt changed the table")
    return f"{len(_ESCAPES)} attempts"


def a_runaway_is_stopped(engine: SqlEngine) -> str:
    """A statement that would take for ever becomes error 3024, and the next one works."""
    slowest = 0.0
    for sql in _RUNAWAYS:
        _open(engine, Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
        started = time.monotonic()
        error = engine.execute(sql).error
        slowest = max(slowest, time.monotonic() - started)
        require(error is not None and error.code == 3024, f"{error}: {sql}")
        require(slowest < _PATIENCE, f"{slowest:.0f} s for {sql}")
        _expect(engine, "SELECT COUNT(*) FROM t", ((60,),))
    return f"at most {slowest:.1f} s"


def results_are_bounded(engine: SqlEngine) -> str:
    """A result of 12.96 million rows is cut, says so, and the next statement works."""
    _open(engine, Table("t", (Column("x", "INT"),), tuple((i,) for i in range(60))))
    reply = _run(engine, "SELECT a.x, b.x, c.x, d.x FROM t a, t b, t c, t d")
    require(reply.truncated and 0 < len(reply.rows) < 1_000_000, f"{len(reply.rows)} rows, not cut")
    _expect(engine, "SELECT MAX(x) FROM t", ((59,),))
    return f"{len(reply.rows)} rows"


def dropping_forgets_everything(engine: SqlEngine) -> str:
    """The next task finds neither tables nor settings of the last one."""
    _open(engine, SHOP, MAKERS)
    for sql in ("CREATE TABLE extra (a INT)", "SET @mine = 5", "SET SESSION sql_mode = ''"):
        engine.execute(sql)
    _open(engine, Table("other", MAKERS.columns, MAKERS.rows))
    for name in ("extra", "stock", "makers", "stock.stock"):
        require(engine.execute(f"SELECT * FROM {name}").error is not None, f"{name} is still there")
    _expect(engine, "SELECT @mine", ((None,),))
    error = engine.execute("SELECT town, COUNT(*) FROM other").error
    require(error is not None and error.code == 1140, f"sql_mode is not MySQL's: {error}")
    return "tables, variables, sql_mode"


CHECKS: tuple[Callable[[SqlEngine], str], ...] = (
    is_an_engine,
    an_empty_engine_has_no_contents,
    rows_come_back_in_order,
    hash_is_the_published_one,
    missing_parts_have_no_hash,
    rows_that_do_not_fit_are_refused,
    numbers_follow_mysql,
    text_follows_mysql,
    changes_follow_mysql,
    every_statement_commits,
    errors_have_mysqls_codes,
    hostile_text_is_a_reply,
    nothing_leaves_the_database,
    a_runaway_is_stopped,
    results_are_bounded,
    dropping_forgets_everything,
)


def _open(engine: SqlEngine, *tables: Table) -> None:
    engine.drop()
    for table in tables:
        engine.create(table)


def _run(engine: SqlEngine, sql: str) -> SqlReply:
    reply = engine.execute(sql)
    require(reply.error is None, f"{reply.error}: {sql}")
    return reply


def _expect(engine: SqlEngine, sql: str, rows: Sequence[Row]) -> None:
    found = _run(engine, sql).rows
    same = len(found) == len(rows) and all(
        len(a) == len(b) and all(map(_same_cell, a, b)) for a, b in zip(found, rows, strict=True)
    )
    require(same, f"{shorten(repr(found))} instead of {shorten(repr(rows))}: {sql}")


def _same_cell(found: Value, expected: Value) -> bool:
    if isinstance(found, int | float | Decimal) and isinstance(expected, int | float | Decimal):
        return math.isclose(found, expected, abs_tol=1e-9)
    return found == expected


def _fail(problem: str) -> str:
    require(False, problem)
    return problem
