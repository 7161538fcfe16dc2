"""The SQL engine contract: one database for one task, whatever server stands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import md5
from typing import Protocol, TypeAlias, runtime_checkable

from perdure.core.randomness import keyed_seed

Value: TypeAlias = int | float | str | bytes | Decimal | date | datetime | time | timedelta | None
"""One cell, typed as a MySQL driver returns it: exact numbers with a scale are `Decimal`."""

Row: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A column of a task's table; `type` is a MySQL type name such as `INT` or `TEXT`."""

    name: str
    type: str


@dataclass(frozen=True)
class Table:
    """A task's table with its rows, in order."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class SqlError:
    """A statement's error as MySQL reports it."""

    code: int
    sqlstate: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} ({self.sqlstate}): {self.message}"


@dataclass(frozen=True)
class SqlReply:
    """What one call of `execute` gave. With an error there are no rows."""

    rows: tuple[Row, ...] = ()
    is_mutation: bool = False
    """The statement changes data or structure rather than returning a result set."""
    error: SqlError | None = None
    columns: tuple[str, ...] = ()
    affected: int = 0
    truncated: bool = False
    """The result set had more rows than the engine hands out."""


def random_seeds(seed: int) -> tuple[int, int]:
    """A session's `rand_seed1` and `rand_seed2`, so that `RAND()` is alike on every engine."""
    return keyed_seed(seed, "rand", 1) % RAND_BOUND, keyed_seed(seed, "rand", 2) % RAND_BOUND


RAND_BOUND = 0x3FFFFFFF
"""The modulus of MySQL's generator."""


@runtime_checkable
class SqlEngine(Protocol):
    """One database, empty or holding one task.

    Raises EnvironmentUnavailable when the server is gone; a bad statement is a reply with an error.
    """

    def begin(self, clock: datetime, seed: int) -> None:
        """Give statements `clock` as the present, and draw their chance from `seed`: they stand still."""

    def create(self, table: Table) -> None:
        """Add a table and fill it. The first one after `drop` names the database and is the task's table."""

    def execute(self, sql: str) -> SqlReply:
        """Run one statement. Never raises for bad SQL; a statement that outlives the timeout is an error."""

    def contents(self) -> tuple[Row, ...] | None:
        """The declared columns of the task's table, in table order; None when any of them is gone."""

    def state_hash(self) -> str | None:
        """`five_digit_hash` of `contents`; None when the table or a declared column is gone."""

    def drop(self) -> None:
        """Remove every table. Idempotent."""

    def close(self) -> None:
        """Free the connection. Idempotent."""


GROUP_CONCAT_LIMIT = 1024
"""MySQL's default `group_concat_max_len`, in characters: the hash covers the first ~170 rows only."""


def five_digit_hash(rows: Iterable[Sequence[Value]]) -> str:
    """The published state hash (LifelongAgentBench B.2): order-free, twenty bits a row.

    MD5 over the sorted, comma-joined five-digit prefixes of each row's MD5, where a row is its non-NULL cells
    joined by commas. An empty table gives the text `None`.
    """
    prefixes = sorted(
        md5(
            ",".join(str(cell) for cell in row if cell is not None).encode("utf-8", "surrogatepass")
        ).hexdigest()[:5]
        for row in rows
    )
    if not prefixes:
        return "None"
    return md5(",".join(prefixes)[:GROUP_CONCAT_LIMIT].encode()).hexdigest()
