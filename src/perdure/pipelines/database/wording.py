"""How a question names columns, values, directions and joined facts: several wordings of one meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from perdure.pipelines.database.scenarios import ColumnPlan, Scenario, Value


@dataclass(frozen=True)
class Setting:
    """What one question is about: a table with its rows, and the style it is put in."""

    scenario: Scenario
    rows: Sequence[Sequence[Value]]
    rng: Random
    identifiers: bool
    """Columns are named as in the table (`unit_price`), not as one says them (unit price)."""
    alias: str = ""
    """Short name of the table, where the statement uses one."""

    def say(self, column: ColumnPlan) -> str:
        """The column in the question."""
        return column.name if self.identifiers else column.words

    def ref(self, column: ColumnPlan) -> str:
        """The column in the statement."""
        return f"{self.alias}.{column.name}" if self.alias else column.name

    @property
    def source(self) -> str:
        """The table in the statement's FROM."""
        table = self.scenario.table
        return f"{table} AS {self.alias}" if self.alias else table

    def values(self, column: ColumnPlan) -> list[Value]:
        """The column's values, sorted."""
        position = self.scenario.columns.index(column)
        return sorted((row[position] for row in self.rows), key=lambda value: (isinstance(value, str), value))

    def some_value(self, column: ColumnPlan, low: float = 0.2, high: float = 0.8) -> Value:
        """A value of the column between two of its quantiles, so that a comparison splits the rows."""
        values = self.values(column)
        return values[self.rng.randint(int(low * (len(values) - 1)), int(high * (len(values) - 1)))]


def literal(value: Value) -> str:
    """The value in SQL and, in the same form, in the question. Texts of the scenarios hold no quotes."""
    return f"'{value}'" if isinstance(value, str) else str(value)


def enumerate_words(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def either(first: str, second: str, rng: Random) -> str:
    """Two facts of which one is enough."""
    choices = (f"{first} or {second} (or both)", f"at least one of these holds: (1) {first}; (2) {second}")
    return rng.choice(choices)


def direction(kind: str, descending: bool, rng: Random) -> str:
    """How a sort key runs, for numbers, dates and texts."""
    if kind == "date":
        choices = ("latest first", "newest first") if descending else ("earliest first", "oldest first")
    elif kind == "text":
        choices = ("from Z to A", "Z to A") if descending else ("from A to Z", "alphabetically")
    elif descending:
        choices = ("from highest to lowest", "highest first")
    else:
        choices = ("from lowest to highest", "lowest first")
    return rng.choice((*choices, "descending" if descending else "ascending"))


def kind_of(column: ColumnPlan) -> str:
    """`date`, `number` or `text`: what `direction` wants to know."""
    if column.kind == "date":
        return "date"
    return "number" if column.sql_type == "INT" else "text"
