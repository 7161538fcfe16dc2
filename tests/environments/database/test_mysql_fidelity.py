"""The embedded engine against recorded replies of a real MySQL 8 server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from benchmarks.mysql_fidelity import (
    DATA,
    NAMES,
    TARGET,
    Agreement,
    Pair,
    figures,
    may_differ,
    measure,
    open_database,
    read_pairs,
    read_rows,
    same_rows,
)
from perdure.environments.database.sqlite.engine import SqliteEngine

SAMPLE = 2_000


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    if not (DATA / "mysql8_pairs.jsonl").exists():
        pytest.skip("the recorded replies of MySQL 8 are not beside the project")
    return read_pairs()


def short_figures(agreement: Agreement) -> Iterator[str]:
    """What is below its target; a single miss is allowed where one in a hundred is less than a pair."""
    named = {f"  {code} {name}" for code, name in NAMES.items()}
    for name, right, total in figures(agreement):
        if name.startswith("  ") and name not in named:
            continue
        if total - right > max(1, total * (1 - TARGET)):
            yield f"{name}: {right}/{total}"


def test_a_sample_agrees(pairs: list[Pair]) -> None:
    agreement = measure(Random(1).sample(pairs, SAMPLE))
    assert agreement.errors + agreement.successes == SAMPLE
    assert list(short_figures(agreement)) == []


@pytest.mark.full
def test_all_pairs_agree(pairs: list[Pair]) -> None:
    agreement = measure(pairs)
    shown = [line for line in short_figures(agreement) if not line.startswith("equal results of SHOW")]
    assert shown == []


@pytest.fixture(scope="module")
def tv() -> Iterator[SqliteEngine]:
    if not Path(DATA / "dumps" / "tvshow.sql").exists():
        pytest.skip("the dumps of the recorded databases are not beside the project")
    engine = open_database("tvshow")
    yield engine
    engine.close()


def test_a_dump_is_read_with_its_keys(tv: SqliteEngine) -> None:
    rows = {row[0]: row[3] for row in tv.execute("DESCRIBE TV_Series").rows}
    assert rows["id"] == "PRI"
    assert rows["Channel"] == "MUL"


def test_recorded_rows_are_read_back() -> None:
    text = "[(1, 'a', None, Decimal('1.50'), datetime.date(2024, 5, 1), b'int', -2.5)]"
    ours = [(1, "a", None, 1.5, read_rows("[(datetime.date(2024, 5, 1),)]")[0][0], "int", -2.5)]
    assert same_rows(ours, read_rows(text))
    assert not same_rows([(1,)], read_rows("[(2,)]"))
    assert not same_rows([("1",)], read_rows("[(1,)]"))


def test_only_ties_that_a_limit_cuts_may_differ() -> None:
    engine = SqliteEngine()
    for sql in ("CREATE TABLE t (a INT, b INT)", "INSERT INTO t VALUES (1, 5), (2, 5), (3, 6)"):
        engine.execute(sql)
    lowest = "SELECT a FROM t ORDER BY b LIMIT 1"
    assert may_differ(lowest, [(1,)], [(2,)], engine)
    assert not may_differ(lowest, [(1,)], [(3,)], engine)
    assert not may_differ(lowest, [(1,)], [(4,)], engine)
    assert may_differ("SELECT a FROM t LIMIT 1", [(1,)], [(3,)], engine)
    assert not may_differ("SELECT a FROM t ORDER BY b", [(1,), (2,), (3,)], [(1,), (2,), (4,)], engine)
    engine.close()
