"""Time of one task's database on each engine that this machine has: create, fill, hash, drop.

Run: python benchmarks/database_engines.py
"""

from __future__ import annotations

import statistics
import time

from perdure.core.errors import EnvironmentUnavailable, MissingExtra
from perdure.environments.database.engine import Column, SqlEngine, Table
from perdure.environments.database.engines import EngineName, open_engine

ROWS = 50
ROUNDS = 200
TARGET_MS = 1.0
"""For the embedded engine."""
TABLE = Table(
    "orders",
    (Column("id", "INT"), Column("customer", "TEXT"), Column("amount", "INT"), Column("placed", "TEXT")),
    tuple((n, f"customer {n % 7}", n * 13 % 101, f"2024-05-{n % 28 + 1:02}") for n in range(ROWS)),
)


def milliseconds(engine: SqlEngine) -> list[float]:
    """One figure a round."""
    figures = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        engine.create(TABLE)
        engine.state_hash()
        engine.drop()
        figures.append((time.perf_counter() - started) * 1000)
    return figures


def main() -> None:
    names: tuple[EngineName, ...] = ("sqlite", "mariadb", "docker")
    for name in names:
        try:
            engine = open_engine(name)
        except (MissingExtra, EnvironmentUnavailable) as absent:
            print(f"{name}: not measured: {absent}")
            continue
        median = statistics.median(milliseconds(engine))
        engine.close()
        verdict = (
            f"target <= {TARGET_MS:.1f} ms; ratio {median / TARGET_MS:.2f}"
            if name == "sqlite"
            else "no target"
        )
        print(f"{name}: reset, hash and drop of {ROWS} rows: {median:.2f} ms median; {verdict}")


if __name__ == "__main__":
    main()
