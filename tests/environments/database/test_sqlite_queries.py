from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from perdure.environments.database.engine import Column, Row, SqlEngine, Table
from perdure.environments.database.sqlite.engine import SqliteEngine


def rows(engine: SqliteEngine, sql: str) -> tuple[Row, ...]:
    reply = engine.execute(sql)
    assert reply.error is None, f"{sql}: {reply.error}"
    assert not reply.is_mutation
    return reply.rows


def one(engine: SqliteEngine, expression: str) -> object:
    return rows(engine, f"SELECT {expression}")[0][0]


def test_it_is_a_sql_engine(engine: SqliteEngine) -> None:
    assert isinstance(engine, SqlEngine)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM stock WHERE name = 'LAMP'", ((1,), (4,))),
        ("SELECT id FROM stock WHERE name LIKE 'L%'", ((1,), (4,))),
        ("SELECT id FROM stock WHERE name IN ('RUG', 'desk')", ((2,), (5,))),
        ('SELECT id FROM stock WHERE name = "rug"', ((5,),)),
        ("SELECT name FROM stock ORDER BY price DESC LIMIT 1, 2", (("lamp",), ("Chair",))),
        ("SELECT DISTINCT name FROM stock", (("Lamp",), ("desk",), ("Chair",), ("rug",))),
        ("SELECT name, COUNT(*) FROM stock GROUP BY name HAVING COUNT(*) > 1", (("Lamp", 2),)),
        ("SELECT maker, SUM(price) AS s FROM stock GROUP BY 1 HAVING s > 100", ((7, 150),)),
        ("SELECT price * 2 AS double_price FROM stock ORDER BY double_price LIMIT 1", ((60,),)),
        ("SELECT id FROM stock WHERE price > (SELECT AVG(price) FROM stock)", ((2,),)),
        ("SELECT id FROM stock WHERE maker IN (SELECT maker FROM makers) AND price < 50", ((1,), (3,))),
        ("SELECT id FROM stock WHERE price >= ALL (SELECT price FROM stock)", ((2,),)),
        (
            "SELECT id FROM stock WHERE price < ANY (SELECT price FROM stock WHERE maker = 8)",
            ((1,), (3,), (5,)),
        ),
        (
            "SELECT id FROM stock s WHERE EXISTS (SELECT 1 FROM makers m WHERE m.maker = s.maker AND "
            "town = 'oslo')",
            ((1,), (2,)),
        ),
        (
            "SELECT s.id, m.town FROM stock s LEFT JOIN makers m ON s.maker = m.maker WHERE s.id > 3",
            ((4, "Bergen"), (5, None)),
        ),
        (
            "SELECT town, id FROM stock JOIN makers USING (maker) WHERE price > 50",
            (("Oslo", 2), ("Bergen", 4)),
        ),
        ("SELECT id FROM stock NATURAL JOIN makers WHERE town = 'Oslo'", ((1,), (2,))),
        (
            "SELECT d.m FROM (SELECT maker AS m, COUNT(*) AS n FROM stock GROUP BY maker) AS d WHERE d.n = 1",
            ((9,),),
        ),
        ("WITH big AS (SELECT * FROM stock WHERE price > 50) SELECT COUNT(*) FROM big", ((2,),)),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
            ((1,), (2,), (3,)),
        ),
        ("SELECT maker FROM stock WHERE id > 2 UNION SELECT maker FROM stock", ((8,), (9,), (7,))),
        ("SELECT 2 UNION ALL SELECT 1 ORDER BY 1", ((1,), (2,))),
        (
            "SELECT id, RANK() OVER (ORDER BY price DESC) FROM stock WHERE id < 3 ORDER BY id",
            ((1, 2), (2, 1)),
        ),
        ("SELECT (SELECT COUNT(*) FROM stock x WHERE x.price < s.price) FROM stock s WHERE id = 2", ((4,),)),
    ],
)
def test_queries_answer_as_mysql_does(shop: SqliteEngine, sql: str, expected: tuple[Row, ...]) -> None:
    assert rows(shop, sql) == expected


def test_groups_come_in_order_of_first_appearance(engine: SqliteEngine) -> None:
    towns = ["Rome", "Oslo", "Rome", "Bonn", "Oslo", "Aarhus"]
    engine.create(Table("t", (Column("town", "TEXT"),), tuple((town,) for town in towns)))
    assert rows(engine, "SELECT town FROM t GROUP BY town") == (("Rome",), ("Oslo",), ("Bonn",), ("Aarhus",))
    by_count = "SELECT town, COUNT(*) AS n FROM t GROUP BY town ORDER BY n DESC"
    assert rows(engine, by_count) == (("Rome", 2), ("Oslo", 2), ("Bonn", 1), ("Aarhus", 1))


def test_exact_numbers_keep_their_scale(shop: SqliteEngine) -> None:
    found = rows(shop, "SELECT AVG(price), SUM(price), 7 / 2, 1.10 + 2.2, ROUND(AVG(price), 1) FROM stock")[0]
    assert found == (59, 295, Decimal("3.5"), Decimal("3.3"), 59)
    assert [str(cell) for cell in found] == ["59.0000", "295", "3.5000", "3.30", "59.0"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'5' + 5", 10.0),
        ("'12abc' * 2", 24.0),
        ("'abc' = 0", 1),
        ("NULL = NULL", None),
        ("NULL <=> NULL", 1),
        ("1 / 0", None),
        ("7 DIV 2", 3),
        ("-7 % 3", -1),
        ("ROUND(2.5)", 3),
        ("ROUND(-2.5)", -3),
        ("ROUND(1.005, 2)", Decimal("1.01")),
        ("TRUNCATE(1.999, 1)", Decimal("1.9")),
        ("TRUE XOR TRUE", 0),
        ("'b' BETWEEN 'A' AND 'C'", 1),
        ("(1, 2) IN ((1, 2), (3, 4))", 1),
        ("CASE WHEN 1 > 2 THEN 'x' ELSE 5 END", "5"),
        ("IF(NULL, 1, 2)", 2),
        ("COALESCE(NULL, 'a')", "a"),
        ("CAST('12abc' AS UNSIGNED)", 12),
        ("CAST(2.5 AS SIGNED)", 3),
        ("CAST(5 AS CHAR)", "5"),
        ("CONCAT('a', 1, 2.50)", "a12.50"),
        ("CONCAT('a', NULL)", None),
        ("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
        ("LEFT('hello', 2)", "he"),
        ("SUBSTRING('hello' FROM -3)", "llo"),
        ("SUBSTRING_INDEX('a.b.c', '.', 2)", "a.b"),
        ("TRIM(LEADING 'x' FROM 'xxa')", "a"),
        ("LPAD('5', 3, '0')", "005"),
        ("FORMAT(12345.678, 2)", "12,345.68"),
        ("FIELD('B', 'a', 'b')", 2),
        ("LOCATE('L', 'hello')", 3),
        ("CHAR_LENGTH('é')", 1),
        ("LENGTH('é')", 2),
        ("'abc' REGEXP '^A.c$'", 1),
        ("'a_c' LIKE 'a\\_c'", 1),
        ("'abc' LIKE 'a\\_c'", 0),
        ("'é' = 'E'", 1),
        ("YEAR('2023-05-06')", 2023),
        ("MONTHNAME('2023-05-06')", "May"),
        ("DATEDIFF('2023-03-01', '2023-02-01')", 28),
        ("DATE_ADD('2023-01-31', INTERVAL 1 MONTH)", "2023-02-28"),
        ("LAST_DAY('2024-02-05')", date(2024, 2, 29)),
        ("DATE_FORMAT('2023-01-02', '%W %e %b %Y')", "Monday 2 Jan 2023"),
        ("TIMESTAMPDIFF(MONTH, '2023-01-15', '2023-03-14')", 1),
        ("EXTRACT(YEAR FROM '2023-05-01')", 2023),
        ("DAYOFWEEK('2023-01-01')", 1),
        ("GREATEST(1, 5, 3)", 5),
        ("0x41", "A"),
        ("'it''s' 'x'", "it'sx"),
    ],
)
def test_expressions_have_mysqls_value(engine: SqliteEngine, expression: str, expected: object) -> None:
    assert one(engine, expression) == expected


def test_deviations_and_concatenation(shop: SqliteEngine) -> None:
    sql = "SELECT STD(price), STDDEV_SAMP(price), VARIANCE(price), GROUP_CONCAT(name ORDER BY price DESC) "
    sql += "FROM stock"
    std, sample, variance, names = rows(shop, sql)[0]
    assert std == pytest.approx(31.5278, abs=1e-4)
    assert sample == pytest.approx(35.2491, abs=1e-3)
    assert variance == pytest.approx(994)
    assert names == "desk,lamp,Chair,rug,Lamp"
    assert rows(
        shop, "SELECT GROUP_CONCAT(DISTINCT name SEPARATOR '/'), COUNT(DISTINCT maker, price) FROM stock"
    ) == (("Lamp/desk/Chair/rug", 5),)


def test_a_statement_that_shows_the_structure(shop: SqliteEngine) -> None:
    assert rows(shop, "SHOW TABLES") == (("makers",), ("stock",))
    assert rows(shop, "DESCRIBE makers")[0] == ("maker", "int", "YES", "", None, "")
    assert rows(shop, "SELECT DATABASE()") == (("stock",),)
