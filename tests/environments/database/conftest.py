from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.environments.database.engine import Column, Table
from perdure.environments.database.sqlite.engine import SqliteEngine

LAB = Path(__file__).parents[4] / "shared" / "data" / "lifelongagentbench" / "db_bench.json"


@pytest.fixture(scope="session")
def lab_file() -> Path:
    if not LAB.exists():
        pytest.skip("the published LifelongAgentBench database tasks are not beside the project")
    return LAB


@pytest.fixture
def engine() -> Iterator[SqliteEngine]:
    made = SqliteEngine(timeout=2.0)
    yield made
    made.close()


@pytest.fixture
def shop(engine: SqliteEngine) -> SqliteEngine:
    """A table of five articles, and one of two suppliers."""
    columns = (Column("id", "INT"), Column("name", "TEXT"), Column("price", "INT"), Column("maker", "INT"))
    rows = (
        (1, "Lamp", 30, 7),
        (2, "desk", 120, 7),
        (3, "Chair", 45, 8),
        (4, "lamp", 55, 8),
        (5, "rug", 45, 9),
    )
    engine.create(Table("stock", columns, rows))
    engine.create(
        Table("makers", (Column("maker", "INT"), Column("town", "TEXT")), ((7, "Oslo"), (8, "Bergen")))
    )
    return engine
