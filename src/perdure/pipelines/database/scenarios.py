"""What a table to ask questions about is made of: a theme, columns and rows drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Literal, TypeAlias

Value: TypeAlias = int | str
Kind: TypeAlias = Literal["key", "name", "category", "measure", "date"]


@dataclass(frozen=True)
class ColumnPlan:
    """One column: its name, what it holds, and where its values come from."""

    name: str
    kind: Kind
    pool: tuple[str, ...] = ()
    """Values of a `name` or `category` column."""
    low: int = 0
    high: int = 0
    """Inclusive bounds of a `measure`; first value of a `key`."""
    step: int = 1

    @property
    def sql_type(self) -> Literal["INT", "TEXT"]:
        """The declared type."""
        return "INT" if self.kind in ("key", "measure") else "TEXT"

    @property
    def words(self) -> str:
        """The name as one says it: `unit_price` → "unit price"."""
        return self.name.replace("_", " ")

    def draw(self, rng: Random, position: int) -> Value:
        """A value for the row at `position` (from 0); keys count upwards."""
        if self.kind == "key":
            return self.low + position
        if self.kind == "measure":
            return rng.randrange(self.low, self.high + 1, self.step)
        if self.kind == "date":
            return (date(self.low, 1, 1) + timedelta(days=rng.randrange(365))).isoformat()
        return rng.choice(self.pool)


@dataclass(frozen=True)
class Scenario:
    """A table with a theme."""

    table: str
    noun: str
    plural: str
    columns: tuple[ColumnPlan, ...]

    def of_kind(self, *kinds: Kind) -> list[ColumnPlan]:
        """The columns that hold one of these kinds, in table order."""
        return [column for column in self.columns if column.kind in kinds]

    @property
    def key(self) -> ColumnPlan:
        """The column whose values are all different."""
        return self.of_kind("key")[0]

    def rows(self, rng: Random) -> list[list[Value]]:
        """Between 20 and 50 rows."""
        return [[c.draw(rng, i) for c in self.columns] for i in range(rng.randint(20, 50))]


def counting_up(name: str, first: int) -> ColumnPlan:
    """Whole numbers counting up from `first`: no two rows share one."""
    return ColumnPlan(name, "key", low=first)


def one_of(name: str, values: str) -> ColumnPlan:
    """One of a few values, given as one comma-separated text."""
    return ColumnPlan(name, "category", tuple(values.split(", ")))


def named(name: str, values: str) -> ColumnPlan:
    """One of many values, given as one comma-separated text."""
    return ColumnPlan(name, "name", tuple(values.split(", ")))


def whole_number(name: str, low: int, high: int, step: int = 1) -> ColumnPlan:
    """Whole numbers in [low, high], `step` apart."""
    return ColumnPlan(name, "measure", low=low, high=high, step=step)


def date_in(name: str, year: int) -> ColumnPlan:
    """ISO dates within `year`."""
    return ColumnPlan(name, "date", low=year)
