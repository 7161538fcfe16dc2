from __future__ import annotations

from hashlib import md5

import pytest

from perdure.environments.database.engine import Column, Row, Table, five_digit_hash
from perdure.environments.database.sqlite.engine import SqliteEngine


def change(engine: SqliteEngine, sql: str) -> int:
    reply = engine.execute(sql)
    assert reply.error is None, f"{sql}: {reply.error}"
    assert reply.is_mutation
    assert reply.rows == ()
    return reply.affected


def stock(engine: SqliteEngine, columns: str = "id, price") -> tuple[Row, ...]:
    return engine.execute(f"SELECT {columns} FROM stock").rows


def test_int_columns_round_half_away_from_zero(shop: SqliteEngine) -> None:
    change(shop, "UPDATE stock SET price = price * 1.15 WHERE id <= 2")
    change(shop, "UPDATE stock SET price = -2.5 WHERE id = 3")
    change(shop, "UPDATE stock SET price = '12.5' WHERE id = 4")
    change(shop, "UPDATE stock SET price = 110 * 1.15 WHERE id = 5")
    assert [row[1] for row in stock(shop)] == [35, 138, -3, 13, 127]


def test_a_later_assignment_reads_the_new_value(shop: SqliteEngine) -> None:
    change(shop, "UPDATE stock SET id = id * 1.5, price = id * 10 WHERE id = 3")
    assert stock(shop)[2] == (5, 50)


def test_update_with_join_takes_the_first_match(shop: SqliteEngine) -> None:
    change(shop, "INSERT INTO makers VALUES (7, 'Paris')")
    change(shop, "UPDATE stock s JOIN makers m ON s.maker = m.maker SET s.name = m.town WHERE s.price < 50")
    assert [row[0] for row in stock(shop, "name")] == ["Oslo", "desk", "Bergen", "lamp", "rug"]


def test_delete_by_alias_with_join(shop: SqliteEngine) -> None:
    assert (
        change(shop, "DELETE s FROM stock AS s JOIN makers AS m ON s.maker = m.maker WHERE m.town = 'oslo'")
        == 2
    )
    assert [row[0] for row in stock(shop)] == [3, 4, 5]


def test_order_and_limit_on_mutations(shop: SqliteEngine) -> None:
    change(shop, "DELETE FROM stock ORDER BY price DESC, id LIMIT 2")
    change(shop, "UPDATE stock SET price = 0 ORDER BY id DESC LIMIT 1")
    assert stock(shop) == ((1, 30), (3, 45), (5, 0))


def test_a_derived_table_may_read_the_target(shop: SqliteEngine) -> None:
    change(shop, "DELETE FROM stock WHERE price < (SELECT a FROM (SELECT AVG(price) AS a FROM stock) AS t)")
    assert [row[0] for row in stock(shop)] == [2]


def test_insert_forms(shop: SqliteEngine) -> None:
    change(shop, "INSERT INTO stock (name, id) VALUES ('a', 6), (CONCAT('b', 1), 2 + 5)")
    change(shop, "INSERT INTO stock SET id = 8, name = 'c'")
    change(shop, "REPLACE INTO stock VALUES (9, 'd', 1, DEFAULT)")
    change(shop, "INSERT INTO stock SELECT maker, town, NULL, 1 FROM makers WHERE maker = 7")
    assert stock(shop, "*")[5:] == (
        (6, "a", None, None),
        (7, "b1", None, None),
        (8, "c", None, None),
        (9, "d", 1, None),
        (7, "Oslo", None, 1),
    )


def test_structure_can_change_within_the_database(shop: SqliteEngine) -> None:
    change(
        shop,
        "CREATE TEMPORARY TABLE cheap AS SELECT id, AVG(price) AS p FROM stock WHERE price < 50 GROUP BY id",
    )
    change(shop, "ALTER TABLE cheap ADD COLUMN note TEXT")
    change(shop, "UPDATE cheap SET note = p WHERE id = 1")
    assert shop.execute("SELECT note FROM cheap WHERE id = 1").rows == (("30.0000",),)
    change(shop, "DELETE FROM stock WHERE id IN (SELECT id FROM cheap)")
    change(shop, "DROP TABLE cheap")
    assert [row[0] for row in stock(shop)] == [2, 4]
    change(shop, "TRUNCATE TABLE stock")
    assert shop.state_hash() == "None"


@pytest.mark.parametrize("sql", ["SET @x = 1", "START TRANSACTION", "COMMIT", "ROLLBACK", "USE stock"])
def test_statements_without_effect_succeed(shop: SqliteEngine, sql: str) -> None:
    before = shop.contents()
    change(shop, sql)
    assert shop.contents() == before


def test_the_hash_is_the_published_formula(engine: SqliteEngine) -> None:
    engine.create(Table("t", (Column("a", "INT"), Column("b", "TEXT")), ((1, "x"), (2, None))))
    parts = sorted(md5(text).hexdigest()[:5] for text in (b"1,x", b"2"))
    assert engine.state_hash() == md5(",".join(parts).encode()).hexdigest()
    assert five_digit_hash([(2, None), (1, "x")]) == engine.state_hash()
    assert five_digit_hash([]) == "None"


def test_the_hash_covers_the_first_1024_characters_of_row_hashes() -> None:
    rows = [(i,) for i in range(300)]
    parts = sorted(md5(str(i).encode()).hexdigest()[:5] for i in range(300))
    assert five_digit_hash(rows) == md5(",".join(parts)[:1024].encode()).hexdigest()


def test_without_its_columns_the_table_has_no_hash(shop: SqliteEngine) -> None:
    change(shop, "ALTER TABLE stock ADD COLUMN extra INT")
    with_extra = shop.contents()
    assert with_extra is not None
    assert with_extra[0] == (1, "Lamp", 30, 7)
    change(shop, "ALTER TABLE stock DROP COLUMN price")
    assert shop.contents() is None
    assert shop.state_hash() is None
    change(shop, "DROP TABLE stock")
    assert shop.state_hash() is None


def test_rows_that_do_not_fit_are_named(engine: SqliteEngine) -> None:
    with pytest.raises(ValueError, match="table 't': Incorrect integer value: 'x' for column 'a' at row 2"):
        engine.create(Table("t", (Column("a", "INT"),), ((1,), ("x",))))


def test_drop_empties_the_engine(shop: SqliteEngine) -> None:
    shop.execute("CREATE TABLE more (a INT)")
    shop.drop()
    shop.drop()
    assert shop.contents() is None
    shop.create(Table("stock", (Column("a", "INT"),), ((1,),)))
    assert shop.contents() == ((1,),)
    assert shop.execute("SHOW TABLES").rows == (("stock",),)
