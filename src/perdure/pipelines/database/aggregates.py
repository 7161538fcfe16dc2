"""Counts, totals and extremes: as columns of a result, and as conditions on groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perdure.pipelines.database.conditions import Condition
from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.scenarios import ColumnPlan, Value
from perdure.pipelines.database.wording import Setting, either

_FIGURES = {
    "SUM": ("total", "total"),
    "AVG": ("average", "avg"),
    "MIN": ("lowest", "min"),
    "MAX": ("highest", "max"),
}
"""SQL name → (word in a question, stem of an alias)."""


@dataclass(frozen=True)
class Item:
    """One column of a result."""

    sql: str
    plain_words: str
    kind: str
    """`number`, `date` or `text`."""
    alias: str = ""

    @property
    def declaration(self) -> str:
        """How it stands in the SELECT list."""
        return f"{self.sql} AS {self.alias}" if self.alias else self.sql

    @property
    def words(self) -> str:
        """How a question asks for it."""
        return f"{self.plain_words} (named {self.alias})" if self.alias else self.plain_words


def count_item(setting: Setting, named: bool) -> Item:
    """How many rows."""
    scenario = setting.scenario
    alias = f"{scenario.noun.split()[-1]}_count" if named else ""
    return Item("COUNT(*)", f"the number of {scenario.plural}", "number", alias)


def figure_item(setting: Setting, measure: ColumnPlan, named: bool) -> Item:
    """A total, average or extreme of a column."""
    name = setting.rng.choice(tuple(_FIGURES))
    word, stem = _FIGURES[name]
    alias = f"{stem}_{measure.name}" if named else ""
    return Item(f"{name}({setting.ref(measure)})", f"the {word} {setting.say(measure)}", "number", alias)


def having_condition(setting: Setting, recipe: Recipe, columns: Sequence[ColumnPlan]) -> Condition:
    """A condition on the groups formed by `columns`."""
    measures = setting.scenario.of_kind("measure")
    setting.rng.shuffle(measures)
    first = (_calculated if recipe.calculation else _compared)(setting, measures, columns)
    if recipe.having == "single":
        return Condition(*first)
    second = _compared(setting, measures[1:], columns)
    if setting.rng.random() < 0.6:
        words = f"{first[1]} and {second[1]}"
        return Condition(f"{first[0]} AND {second[0]}", words, (first[0], second[0]))
    words = either(first[1], second[1], setting.rng)
    return Condition(f"{first[0]} OR {second[0]}", words, (first[0], second[0]))


def _groups(setting: Setting, columns: Sequence[ColumnPlan], measure: ColumnPlan) -> list[list[int]]:
    """The measure's values, group by group, so that bounds can be set where they divide the groups."""
    positions = [setting.scenario.columns.index(column) for column in columns]
    at = setting.scenario.columns.index(measure)
    groups: defaultdict[tuple[Value, ...], list[int]] = defaultdict(list)
    for row in setting.rows:
        groups[tuple(row[i] for i in positions)].append(int(row[at]))
    return list(groups.values())


def _compared(
    setting: Setting, measures: Sequence[ColumnPlan], columns: Sequence[ColumnPlan]
) -> tuple[str, str]:
    measure, rng = measures[0], setting.rng
    ref, name = setting.ref(measure), setting.say(measure)
    group = rng.choice(_groups(setting, columns, measure))
    choices = (
        ("COUNT(*)", f"the number of {setting.scenario.plural}", len(group)),
        (f"SUM({ref})", f"the total {name}", sum(group)),
        (f"AVG({ref})", f"the average {name}", sum(group) // len(group)),
        (f"MAX({ref})", f"the highest {name}", max(group)),
        (f"MIN({ref})", f"the lowest {name}", min(group)),
    )
    sql, words, bound = rng.choice(choices)
    return _against(setting, sql, words, bound)


def _calculated(
    setting: Setting, measures: Sequence[ColumnPlan], columns: Sequence[ColumnPlan]
) -> tuple[str, str]:
    measure, other, rng = measures[0], measures[1], setting.rng
    ref, name = setting.ref(measure), setting.say(measure)
    group = rng.choice(_groups(setting, columns, measure))
    choices = (
        (
            f"MAX({ref}) - MIN({ref})",
            f"the highest {name} minus the lowest {name}",
            max(group) - min(group),
        ),
        (
            f"SUM({ref}) / COUNT(*)",
            f"the total {name} divided by the number of {setting.scenario.plural}",
            sum(group) // len(group),
        ),
        (
            f"MAX({ref}) + MAX({setting.ref(other)})",
            f"the highest {name} plus the highest {setting.say(other)}",
            max(group) + setting.scenario.columns[setting.scenario.columns.index(other)].high * 3 // 4,
        ),
        (f"SUM({ref}) * 2", f"twice the total {name}", sum(group) * 2),
    )
    return _against(setting, *rng.choice(choices))


def _against(setting: Setting, sql: str, words: str, bound: int) -> tuple[str, str]:
    """Compare with a bound."""
    sign, word = setting.rng.choice(
        ((">", "greater than"), (">=", "at least"), ("<", "less than"), ("<=", "at most"), (">", "above"))
    )
    return f"{sql} {sign} {bound}", f"{words} is {word} {bound}"
