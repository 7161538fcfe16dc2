"""SQL's present and chance are the trial's own, and stand still."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from perdure.core.errors import ConfigError, EnvironmentUnavailable, MissingExtra
from perdure.core.types import Trial
from perdure.environments.database import WORLD, DatabaseEnvironment
from perdure.environments.database.engine import Column, Row, SqlEngine, Table
from perdure.environments.database.engines import open_engine
from perdure.environments.database.sqlite.engine import SqliteEngine

CLOCK = datetime(2024, 2, 29, 23, 59, 58, tzinfo=UTC)
NUMBERS = Table("numbers", (Column("a", "INT"),), ((1,), (2,), (3,)))


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def engine(request: pytest.FixtureRequest) -> Iterator[SqlEngine]:
    try:
        opened = open_engine(request.param)
    except (MissingExtra, EnvironmentUnavailable) as error:
        pytest.skip(f"{request.param}: {error}")
    yield opened
    opened.close()


def begin(engine: SqlEngine, seed: int = 7) -> None:
    engine.drop()
    engine.begin(CLOCK, seed)
    engine.create(NUMBERS)


def rows(engine: SqlEngine, sql: str) -> tuple[Row, ...]:
    reply = engine.execute(sql)
    assert reply.error is None, f"{sql}: {reply.error}"
    return reply.rows


MOMENT = CLOCK.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(
            (call, MOMENT)
            for call in (
                *("NOW()", "now()", "SYSDATE()", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP()", "NOW(6)"),
                *("CURRENT_TIMESTAMP(3)", "LOCALTIME", "LOCALTIME()", "LOCALTIMESTAMP", "LOCALTIMESTAMP()"),
                *("UTC_TIMESTAMP", "UTC_TIMESTAMP()", "FROM_UNIXTIME(UNIX_TIMESTAMP())"),
            )
        ),
        *(
            (call, MOMENT.date())
            for call in ("CURDATE()", "CURRENT_DATE", "CURRENT_DATE()", "UTC_DATE", "UTC_DATE()")
        ),
        *(
            (call, timedelta(hours=23, minutes=59, seconds=58))
            for call in (
                "CURTIME()",
                "CURRENT_TIME",
                "CURRENT_TIME()",
                "CURTIME(2)",
                "UTC_TIME",
                "UTC_TIME()",
            )
        ),
        ("UNIX_TIMESTAMP()", int(CLOCK.timestamp())),
        ("DATE(NOW() + INTERVAL 1 DAY)", date(2024, 3, 1)),
        ("TIMESTAMPDIFF(YEAR, '2000-02-29', CURDATE())", 24),
        ("DATE_FORMAT(SYSDATE(), '%Y-%m-%d %H:%i:%s')", "2024-02-29 23:59:58"),
    ],
)
def test_the_present_is_the_clock_of_the_trial(engine: SqlEngine, expression: str, value: object) -> None:
    begin(engine)
    assert rows(engine, f"SELECT {expression}") == ((value,),)


def test_columns_default_to_the_present(engine: SqlEngine) -> None:
    begin(engine)
    defaults = (
        "b TIMESTAMP DEFAULT CURRENT_TIMESTAMP, c DATETIME DEFAULT NOW(), d DATETIME DEFAULT LOCALTIMESTAMP"
    )
    rows(engine, f"CREATE TABLE stamped (a INT, {defaults}, e DATE DEFAULT (CURRENT_DATE), f INT DEFAULT -5)")
    rows(engine, "INSERT INTO stamped (a) VALUES (1)")
    assert rows(engine, "SELECT * FROM stamped") == ((1, MOMENT, MOMENT, MOMENT, MOMENT.date(), -5),)


def test_a_value_that_is_written_default_is_the_present_too(engine: SqlEngine) -> None:
    begin(engine)
    rows(
        engine,
        "CREATE TABLE said (a INT, b TIMESTAMP DEFAULT CURRENT_TIMESTAMP, c DATE DEFAULT (CURDATE()), "
        "d DOUBLE DEFAULT (RAND(3)), e VARCHAR(9) DEFAULT 'it''s', f INT DEFAULT TRUE)",
    )
    rows(engine, "INSERT INTO said VALUES (1, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT)")
    rows(engine, "INSERT INTO said VALUES (2, '2000-01-01', '2000-01-01', 0, '', 0)")
    rows(engine, "UPDATE said SET b = DEFAULT, c = DEFAULT, e = DEFAULT, f = DEFAULT")
    now = (MOMENT, MOMENT.date())
    first, second = rows(engine, "SELECT * FROM said")
    assert first[:3] + first[4:] == (1, *now, "it's", 1)
    assert first[3] == pytest.approx(0.9057697559760601)
    assert second == (2, *now, 0.0, "it's", 1)


def test_nobody_sees_the_name_of_a_lease(engine: SqlEngine) -> None:
    begin(engine)
    ((user, current),) = rows(engine, "SELECT USER(), CURRENT_USER()")
    assert str(user).startswith("agent@")
    assert str(current).startswith("agent@")


def test_a_server_says_what_it_cannot_tell(engine: SqlEngine) -> None:
    begin(engine)
    for clock in (datetime(2050, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)):
        if isinstance(engine, SqliteEngine):
            engine.begin(clock, 0)
            assert rows(engine, "SELECT NOW()") == ((clock.replace(tzinfo=None),),)
        else:
            with pytest.raises(ConfigError, match=f"clock: .*1970 to 2038 .*{clock.year}"):
                engine.begin(clock, 0)


def test_identifiers_are_the_trial_s_or_masked(engine: SqlEngine) -> None:
    seen = set()
    for _ in range(2):
        begin(engine)
        seen.add(WORLD.normalise(str(rows(engine, "SELECT UUID(), UUID()"))))
    assert len(seen) == 1
    ((one, other),) = rows(engine, "SELECT UUID_SHORT(), UUID_SHORT()")
    assert int(str(other)) == int(str(one)) + 1


@pytest.mark.parametrize(
    ("sql", "expected"),
    [  # the manual's numbers for RAND(3), and MariaDB's for the rest
        ("SELECT RAND(3) FROM numbers", (0.9057697559760601, 0.37307905813034536, 0.14808605345719125)),
        ("SELECT RAND(a) FROM numbers", (0.40540353712197724, 0.6555866465490187, 0.9057697559760601)),
        ("SELECT a FROM numbers ORDER BY RAND(5)", (3, 1, 2)),
        ("SELECT FLOOR(RAND(4) * 100) FROM numbers", (15.0, 62.0, 65.0)),
    ],
)
def test_chance_with_a_seed_is_mysql_s(engine: SqlEngine, sql: str, expected: tuple[object, ...]) -> None:
    begin(engine)
    assert tuple(row[0] for row in rows(engine, sql)) == pytest.approx(expected)
    assert tuple(row[0] for row in rows(engine, sql)) == pytest.approx(expected)  # each statement anew


def test_two_draws_of_one_seed_are_alike_in_each_row(engine: SqlEngine) -> None:
    begin(engine)
    for one, other in rows(engine, "SELECT RAND(3), RAND(3) FROM numbers"):
        assert one == other


def drawn(engine: SqlEngine, seed: int) -> list[object]:
    begin(engine, seed)
    draws = [row[0] for _ in range(2) for row in rows(engine, "SELECT RAND() FROM numbers")]
    return [*draws, *(row[0] for row in rows(engine, "SELECT a FROM numbers ORDER BY RAND()"))]


def test_chance_without_a_seed_is_the_trial_s(engine: SqlEngine) -> None:
    first = drawn(engine, 1)
    assert drawn(engine, 1) == first
    assert drawn(engine, 2) != first
    assert len(set(first[:6])) == 6


def test_engines_draw_alike() -> None:
    try:
        server = open_engine("mariadb")
    except (MissingExtra, EnvironmentUnavailable) as error:
        pytest.skip(f"mariadb: {error}")
    embedded = open_engine("sqlite")
    try:
        assert drawn(embedded, 3) == drawn(server, 3)
    finally:
        server.close()
        embedded.close()


def shown(environment: DatabaseEnvironment, trial: Trial) -> str:
    environment.reset(trial)
    text = environment.interact("Action: Operation\n```sql\nSELECT NOW(), RAND(), UUID()\n```").text
    environment.complete()
    return text


def test_each_trial_has_its_own_chance_and_the_clock_it_was_given() -> None:
    with_seed, other = DatabaseEnvironment(seed=1), DatabaseEnvironment(seed=2)
    task = with_seed.task_ids()[0]
    first = shown(with_seed, Trial(task, 0, CLOCK))
    assert "2024-02-29 23:59:58" in first
    assert shown(with_seed, Trial(task, 0, CLOCK)) == first
    assert shown(with_seed, Trial(task, 1, CLOCK)) != first
    assert shown(other, Trial(task, 0, CLOCK)) != first
    with_seed.release()
    other.release()
