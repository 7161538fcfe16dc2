"""What an agent may ask about the database itself."""

from __future__ import annotations

import pytest

from perdure.environments.database.sqlite.engine import SqliteEngine

TABLE = (
    "CREATE TABLE visits (id INT NOT NULL AUTO_INCREMENT, guest VARCHAR(20) DEFAULT 'nobody', "
    "fee DECIMAL(8,2), stay FLOAT(4,1), at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, code INT, "
    "note TEXT, PRIMARY KEY (id), KEY by_guest (guest), UNIQUE KEY by_code (code)) COLLATE=utf8mb4_general_ci"
)


@pytest.fixture
def visits(shop: SqliteEngine) -> SqliteEngine:
    assert shop.execute(TABLE).error is None
    return shop


def test_tables_of_the_database(visits: SqliteEngine) -> None:
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = {} ORDER BY table_name"
    assert visits.execute(sql.format("DATABASE()")).rows == (("makers",), ("stock",), ("visits",))
    assert visits.execute(sql.format("'public'")).rows == ()


def test_columns_as_mysql_describes_them(visits: SqliteEngine) -> None:
    sql = (
        "SELECT column_name, ordinal_position, column_default, is_nullable, data_type, "
        "character_maximum_length, numeric_precision, numeric_scale, column_type, column_key, collation_name "
        "FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'visits' ORDER BY ordinal_position"
    )
    general = "utf8mb4_general_ci"
    assert visits.execute(sql).rows == (
        ("id", 1, None, "NO", "int", None, 10, 0, "int", "PRI", None),
        ("guest", 2, "nobody", "YES", "varchar", 20, None, None, "varchar(20)", "MUL", general),
        ("fee", 3, None, "YES", "decimal", None, 8, 2, "decimal(8,2)", "", None),
        ("stay", 4, None, "YES", "float", None, 4, 1, "float(4,1)", "", None),
        ("at", 5, "CURRENT_TIMESTAMP", "NO", "timestamp", None, None, None, "timestamp", "", None),
        ("code", 6, None, "YES", "int", None, 10, 0, "int", "UNI", None),
        ("note", 7, None, "YES", "text", 65535, None, None, "text", "", general),
    )


def test_describe_names_keys_and_defaults(visits: SqliteEngine) -> None:
    rows = visits.execute("DESCRIBE visits").rows
    assert [(row[0], row[3], row[4], row[5]) for row in rows] == [
        ("id", "PRI", None, "auto_increment"),
        ("guest", "MUL", "nobody", ""),
        ("fee", "", None, ""),
        ("stay", "", None, ""),
        ("at", "", "CURRENT_TIMESTAMP", "DEFAULT_GENERATED"),
        ("code", "UNI", None, ""),
        ("note", "", None, ""),
    ]


def test_a_default_moment_is_now(visits: SqliteEngine) -> None:
    visits.execute("INSERT INTO visits (guest) VALUES ('Ada')")
    rows = visits.execute("SELECT TIMESTAMPDIFF(MINUTE, at, NOW()) FROM visits").rows
    assert rows in (((0,),), ((1,),))


def test_databases(visits: SqliteEngine) -> None:
    names = (("information_schema",), ("stock",))
    assert visits.execute("SHOW DATABASES").rows == names
    assert visits.execute("SELECT schema_name FROM information_schema.schemata").rows == names


@pytest.mark.parametrize(
    ("code", "sql"),
    [
        (1109, "SELECT * FROM information_schema.passwords"),
        (1054, "SELECT column_name FROM information_schema.tables"),
        (1146, "SELECT * FROM mysql.user"),
        (1049, "SELECT * FROM elsewhere.stock"),
    ],
)
def test_what_there_is_not(visits: SqliteEngine, code: int, sql: str) -> None:
    error = visits.execute(sql).error
    assert error is not None
    assert error.code == code


def test_groups_of_an_indexed_column_come_in_its_order(shop: SqliteEngine) -> None:
    shop.execute("CREATE TABLE keyed (k INT, other INT, KEY (k))")
    shop.execute("INSERT INTO keyed VALUES (3, 1), (1, 1), (2, 1), (1, 1)")
    assert shop.execute("SELECT k, COUNT(*) FROM keyed GROUP BY k").rows == ((1, 2), (2, 1), (3, 1))
    by_appearance = ((3, 1), (1, 2), (2, 1))
    assert shop.execute("SELECT k, SUM(other) FROM keyed GROUP BY k").rows == by_appearance
