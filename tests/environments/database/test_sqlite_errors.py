from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.database.engine import Column, SqlReply, Table
from perdure.environments.database.sqlite.engine import SqliteEngine


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT nope FROM stock", "1054 (42S22): Unknown column 'nope' in 'field list'"),
        ("SELECT id FROM stock WHERE nope = 1", "1054 (42S22): Unknown column 'nope' in 'where clause'"),
        ("SELECT id AS x FROM stock WHERE x = 1", "1054 (42S22): Unknown column 'x' in 'where clause'"),
        (
            "SELECT id FROM stock s ORDER BY stock.id",
            "1054 (42S22): Unknown column 'stock.id' in 'order clause'",
        ),
        ("SELECT id FROM stock HAVING price > 1", "1054 (42S22): Unknown column 'price' in 'having clause'"),
        ("SELECT id FROM stock JOIN makers ON a = b", "1054 (42S22): Unknown column 'a' in 'on clause'"),
        ("SELECT id FROM stock ORDER BY 3", "1054 (42S22): Unknown column '3' in 'order clause'"),
        ("SELECT * FROM nope", "1146 (42S02): Table 'stock.nope' doesn't exist"),
        ("SELECT * FROM Stock", "1146 (42S02): Table 'stock.Stock' doesn't exist"),
        ("SELECT * FROM other.stock", "1049 (42000): Unknown database 'other'"),
        (
            "SELECT maker FROM stock JOIN makers ON 1",
            "1052 (23000): Column 'maker' in field list is ambiguous",
        ),
        ("SELECT * FROM stock, stock", "1066 (42000): Not unique table/alias: 'stock'"),
        ("SELECT x.* FROM stock", "1051 (42S02): Unknown table 'x'"),
        ("SELECT id FROM stock WHERE COUNT(*) > 1", "1111 (HY000): Invalid use of group function"),
        ("SELECT SUM(COUNT(*)) FROM stock", "1111 (HY000): Invalid use of group function"),
        ("SELECT COUNT(*) AS n FROM stock GROUP BY n", "1056 (42000): Can't group on 'n'"),
        ("SELECT FROBNICATE(id) FROM stock", "1305 (42000): FUNCTION stock.FROBNICATE does not exist"),
        (
            "SELECT YEAR(1, 2)",
            "1582 (42000): Incorrect parameter count in the call to native function 'YEAR'",
        ),
        ("SELECT (SELECT id FROM stock)", "1242 (21000): Subquery returns more than 1 row"),
        ("SELECT (SELECT id, name FROM stock LIMIT 1)", "1241 (21000): Operand should contain 1 column(s)"),
        (
            "SELECT 1 UNION SELECT 1, 2",
            "1222 (21000): The used SELECT statements have a different number of columns",
        ),
        ("SELECT * FROM (SELECT 1)", "1248 (42000): Every derived table must have its own alias"),
        ("SELECT * FROM (SELECT 1 AS a, 2 AS a) AS d", "1060 (42S21): Duplicate column name 'a'"),
        (
            "SELECT id FROM stock WHERE id IN (SELECT id FROM stock LIMIT 1)",
            "1235 (42000): This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'",
        ),
        ("", "1065 (42000): Query was empty"),
        ("UPDATE stock SET id = 'x'", "1366 (HY000): Incorrect integer value: 'x' for column 'id' at row 1"),
        ("UPDATE stock SET id = 99999999999", "1264 (22003): Out of range value for column 'id' at row 1"),
        (
            "UPDATE stock SET id = 1 WHERE id = (SELECT MAX(id) FROM stock)",
            "1093 (HY000): You can't specify target table 'stock' for update in FROM clause",
        ),
        (
            "DELETE FROM stock WHERE name = (SELECT MAX(name) FROM stock) "
            "AND id IN (SELECT id FROM stock LIMIT 100)",
            "1235 (42000): This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'",
        ),
        (
            "DELETE FROM stock WHERE id IN (SELECT id FROM stock WHERE price IN "
            "(SELECT price FROM stock LIMIT 100))",
            "1235 (42000): This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'",
        ),
        (
            "UPDATE stock SET id = 1 WHERE id IN (SELECT nowhere FROM stock)",
            "1054 (42S22): Unknown column 'nowhere' in 'field list'",
        ),
        (
            "DELETE FROM stock WHERE id IN (SELECT id FROM stock)",
            "1093 (HY000): You can't specify target table 'stock' for update in FROM clause",
        ),
        (
            "INSERT INTO stock (id) VALUES (1), (2, 3)",
            "1136 (21S01): Column count doesn't match value count at row 2",
        ),
        ("INSERT INTO stock (id, id) VALUES (1, 2)", "1110 (42000): Column 'id' specified twice"),
        ("INSERT INTO stock (nope) VALUES (1)", "1054 (42S22): Unknown column 'nope' in 'field list'"),
        ("DELETE x FROM stock", "1109 (42S02): Unknown table 'x' in MULTI DELETE"),
        ("DROP TABLE nope", "1051 (42S02): Unknown table 'stock.nope'"),
        ("CREATE TABLE stock (a INT)", "1050 (42S01): Table 'stock' already exists"),
        ("USE other", "1049 (42000): Unknown database 'other'"),
    ],
)
def test_errors_have_mysqls_code_state_and_words(shop: SqliteEngine, sql: str, error: str) -> None:
    reply = shop.execute(sql)
    assert str(reply.error) == error
    assert reply.rows == ()


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        (
            "SELECT name FROM stock GROUP BY name ORDER BY price",
            1055,
            "Expression #1 of ORDER BY clause is not in GROUP BY",
        ),
        ("SELECT DISTINCT name FROM stock ORDER BY price", 3065, "which is not in SELECT list"),
        (
            "SELECT id, COUNT(*) FROM stock GROUP BY name",
            1055,
            "Expression #1 of SELECT list is not in GROUP BY",
        ),
        (
            "SELECT name, COUNT(*) FROM stock",
            1140,
            "expression #1 of SELECT list contains nonaggregated column",
        ),
    ],
)
def test_only_full_group_by(shop: SqliteEngine, sql: str, code: int, words: str) -> None:
    error = shop.execute(sql).error
    assert error is not None
    assert error.code == code
    assert words in error.message
    assert "'stock.stock." in error.message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, price FROM stock WHERE id = 3 GROUP BY price",
        "SELECT name, UPPER(name), COUNT(*) + 1 FROM stock GROUP BY name",
        "SELECT price * 2, COUNT(*) FROM stock GROUP BY price * 2",
        "SELECT MAX(id), 'x' FROM stock",
        "SELECT MAX(id) FROM stock ORDER BY price",
        "SELECT DISTINCT name, price FROM stock ORDER BY price * 2, name",
        "SELECT ANY_VALUE(name), maker FROM stock GROUP BY maker",
    ],
)
def test_what_a_group_determines_may_be_selected(shop: SqliteEngine, sql: str) -> None:
    assert shop.execute(sql).error is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELEC 1",
        "SELECT FROM stock",
        "SELECT id FROM stock OFFSET 2",
        "SELECT id FROM stock LIMIT -1",
        "SELECT id FROM stock LIMIT 1 + 1",
        "SELECT id stock id",
        "SELECT 'open",
        "SELECT * FROM stock FULL OUTER JOIN makers ON 1",
        "SELECT * FROM stock LEFT JOIN makers",
        "SELECT 1; SELECT 2",
        "SELECT id::text FROM stock",
        "SELECT id AS rank FROM stock",
        "SELECT * FROM show",
        "SELECT DISTINCT ON (id) name FROM stock",
        "SELECT * EXCEPT (id) FROM stock",
        "SELECT id FROM stock QUALIFY id > 1",
        "SELECT id FROM stock TABLESAMPLE (10)",
        "SELECT id FROM stock WHERE name ILIKE 'l%'",
        "DELETE FROM stock WHERE id = 1 RETURNING id",
        "UPDATE stock SET id = 1 FROM makers",
        "SELECT COUNT(*) FILTER (WHERE id > 1) FROM stock",
        "SELECT SUM(*) FROM stock",
    ],
)
def test_what_mysql_cannot_parse_is_1064(shop: SqliteEngine, sql: str) -> None:
    error = shop.execute(sql).error
    assert error is not None
    assert (error.code, error.sqlstate) == (1064, "42000")
    assert error.message.startswith("You have an error in your SQL syntax")
    assert "near '" in error.message


def test_a_failed_statement_changes_nothing(shop: SqliteEngine) -> None:
    before = shop.contents()
    assert shop.execute("INSERT INTO stock VALUES (9, 'a', 1, 1), (10, 'b', 'many', 1)").error is not None
    assert shop.execute("UPDATE stock SET price = price * 100000000").error is not None
    assert shop.execute("ALTER TABLE stock MODIFY COLUMN name INT").error is not None
    assert shop.contents() == before
    assert shop.execute("SELECT name FROM stock WHERE id = 1").rows == (("Lamp",),)


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "stock",
        "WHERE",
        "id",
        "name",
        "price",
        "(",
        ")",
        ",",
        "*",
        "=",
        "'x'",
        "1",
        "GROUP",
        "BY",
        "HAVING",
        "ORDER",
        "LIMIT",
        "COUNT",
        "AVG",
        "AS",
        "t",
        "JOIN",
        "ON",
        "makers",
        "UNION",
        "IN",
        "NOT",
        "EXISTS",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "DELETE",
        "UPDATE",
        "SET",
        "INSERT",
        "INTO",
        "VALUES",
        ";",
        "--",
        "/*",
        "`",
        '"',
        "'",
        "%",
        ".",
        "@x",
        "INTERVAL",
        "DAY",
        "NULL",
        "IS",
        "LIKE",
        "BETWEEN",
        "AND",
        "OR",
        "DISTINCT",
        "WITH",
        "OVER",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join)))
def test_no_text_raises(sql: str) -> None:
    engine = SqliteEngine(timeout=1.0)
    try:
        engine.create(Table("stock", (Column("id", "INT"), Column("name", "TEXT")), ((1, "a"),)))
        reply = engine.execute(sql)
        assert isinstance(reply, SqlReply)
        assert reply.error is None or reply.rows == ()
        engine.state_hash()
    finally:
        engine.close()


@given(st.text(max_size=50), st.text(max_size=50))
def test_any_text_survives_storage(name: str, other: str) -> None:
    engine = SqliteEngine()
    try:
        engine.create(Table("t", (Column("a", "TEXT"),), ()))
        quoted = name.replace("\\", "\\\\").replace("'", "''")
        reply = engine.execute(f"INSERT INTO t VALUES ('{quoted}')")
        surrogates = any("\ud800" <= c <= "\udfff" for c in name)
        assert (reply.error is not None) == surrogates
        assert surrogates or engine.execute("SELECT a FROM t").rows == ((name,),)
        assert engine.state_hash() is not None
    finally:
        engine.close()
