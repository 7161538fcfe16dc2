"""What MySQL refuses while it reads a statement, in the order in which it looks at things."""

from __future__ import annotations

import pytest

from perdure.environments.database.sqlite.engine import SqliteEngine


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("SELECT id FROM stock WHERE price IS 3", "3"),
        ("SELECT id FROM nowhere WHERE price IS NOT 'dear'", "'dear'"),
        ("SELECT id FROM stock WHERE price NOT NULL", "NULL"),
        ("SELECT id FROM stock WHERE price IS NOT DISTINCT FROM 3", "DISTINCT FROM 3"),
        ("SELECT id FROM stock WHERE id = 1 JOIN makers ON 1", "JOIN makers ON 1"),
        ("SELECT id FROM stock WHERE id = 1 LEFT JOIN makers ON 1", "LEFT JOIN makers ON 1"),
        ("SELECT id FROM stock ORDER BY id WHERE id = 1", "WHERE id = 1"),
        ("SELECT id FROM stock GROUP BY id WHERE id = 1", "WHERE id = 1"),
        ("SELECT id FROM stock LIMIT 1 ORDER BY id", "ORDER BY id"),
        ("SELECT id FROM stock LIMIT 1 UNION SELECT 2", "UNION SELECT 2"),
        ("SELECT COUNT (*) FROM stock", "*) FROM stock"),
        ("SELECT COUNT (DISTINCT id) FROM stock", "DISTINCT id) FROM stock"),
        ("SELECT CAST(price AS INT) FROM stock", "INT)"),
        ("SELECT CAST(price AS TEXT) FROM stock", "TEXT)"),
        ("SELECT rank FROM stock", "rank"),
        ("SELECT * FROM a.b.c", ".c"),
        ("DESCRIBE show", "show"),
    ],
)
def test_syntax_comes_before_names(shop: SqliteEngine, sql: str, near: str) -> None:
    error = shop.execute(sql).error
    assert error is not None
    assert error.code == 1064
    assert f"near '{near}' at line 1" in error.message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM stock WHERE price IS NOT TRUE",
        "SELECT id FROM stock WHERE (price IS NULL) IS FALSE ORDER BY id LIMIT 1",
        "(SELECT id FROM stock ORDER BY id LIMIT 1) UNION (SELECT id FROM stock LIMIT 1) ORDER BY id",
        "SELECT id FROM stock WHERE id IN (SELECT id FROM stock GROUP BY id) ORDER BY id LIMIT 1",
        "SELECT TRIM('a' FROM name), EXTRACT(YEAR FROM '2024-05-01') FROM stock WHERE id = 1",
        "SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR '|') FROM stock WHERE id > 1 HAVING COUNT(*) > 1",
        "SELECT s.id FROM stock s JOIN makers m ON s.maker = m.maker LEFT JOIN makers n ON 1 WHERE s.id = 1",
        "WITH x AS (SELECT id FROM stock ORDER BY id LIMIT 2) SELECT id FROM x WHERE id = 1 UNION SELECT 2",
        "SELECT AVG (price) FROM stock",
        "SELECT CAST(price AS SIGNED), CAST(price AS CHAR(3)), CAST(price AS DECIMAL(5, 1)) FROM stock",
        "SELECT ROW_NUMBER() OVER (PARTITION BY maker ORDER BY id) FROM stock ORDER BY id",
        "SELECT id AS `rank` FROM stock ORDER BY id DESC",
        "INSERT INTO makers SELECT maker, name FROM stock WHERE id = 1 ORDER BY id LIMIT 1",
        "CREATE TABLE fresh (a INT NOT NULL, b TEXT)",
    ],
)
def test_what_mysql_reads_is_read(shop: SqliteEngine, sql: str) -> None:
    assert shop.execute(sql).error is None


@pytest.mark.parametrize(
    ("code", "sql"),
    [
        (1235, "SELECT nothing FROM nowhere WHERE id IN (SELECT id FROM stock LIMIT 1)"),
        (1235, "SELECT id FROM stock WHERE id > ALL (SELECT id FROM stock LIMIT 1)"),
        (1235, "SELECT id FROM stock WHERE id IN ((SELECT id FROM stock LIMIT 1))"),
        (1248, "SELECT nothing FROM (SELECT 1 FROM nowhere)"),
        (1066, "SELECT 1 FROM nowhere a, elsewhere a"),
        (1059, f"SELECT 1 FROM {'n' * 65}"),
        (1630, "SELECT MAX (id) FROM stock"),
        (3029, "SELECT name FROM stock ORDER BY COUNT(*)"),
        (1247, "SELECT (SELECT label FROM makers LIMIT 1) AS label FROM stock"),
        (1054, "SELECT label, id AS label FROM stock"),
        (
            1247,
            "SELECT maker, COUNT(*) AS n FROM stock GROUP BY maker "
            "HAVING n = (SELECT MAX(n) FROM makers GROUP BY town)",
        ),
        (1111, "SELECT maker, COUNT(*) AS n FROM stock GROUP BY maker HAVING n = MAX(n)"),
    ],
)
def test_the_code_is_mysqls(shop: SqliteEngine, code: int, sql: str) -> None:
    error = shop.execute(sql).error
    assert error is not None
    assert error.code == code


def test_a_function_with_a_space_is_named_as_mysql_does(shop: SqliteEngine) -> None:
    error = shop.execute("SELECT SUM (price) FROM stock").error
    assert error is not None
    assert error.message == (
        "FUNCTION stock.SUM does not exist. Check the 'Function Name Parsing and Resolution' section in the "
        "Reference Manual"
    )


def test_server_variables_are_out_of_reach(shop: SqliteEngine) -> None:
    assert shop.execute("SET SESSION sql_mode = ''").error is None
    error = shop.execute("SET GLOBAL max_connections = 1").error
    assert error is not None
    assert error.code == 1227
