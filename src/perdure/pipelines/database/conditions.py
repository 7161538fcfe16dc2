"""Filters on rows: one condition, two joined, or nested ones, each in SQL and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perdure.pipelines.database.inner_queries import inner_condition
from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.scenarios import ColumnPlan
from perdure.pipelines.database.wording import Setting, either, literal


@dataclass(frozen=True)
class Condition:
    """A filter. `parts` are the same filter with one of its conditions left out, in SQL."""

    sql: str
    words: str
    parts: tuple[str, ...] = ()


def where_condition(setting: Setting, recipe: Recipe) -> Condition:
    """The filter that `recipe` asks for; its conditions are about different columns."""
    derived = recipe.verb in ("update", "delete")
    columns = setting.scenario.of_kind("category", "measure", "date", "name")
    setting.rng.shuffle(columns)
    inner = {"none": 0, "single": 1, "nested": 1, "multiple": 2}[recipe.subquery]
    wanted = {"single": 1, "multiple": 2, "nested": 3}[recipe.where]
    atoms = [inner_condition(setting, recipe.subquery == "nested", derived, turn) for turn in range(inner)]
    free = [column for column in columns if all(column.name not in sql for sql, _ in atoms)]
    atoms += [plain_condition(setting, column) for column in free[: wanted - len(atoms)]]
    setting.rng.shuffle(atoms)
    if wanted == 1:
        return Condition(*atoms[0])
    return _join_two(setting, atoms, inner > 0) if wanted == 2 else _nest_three(setting, atoms)


def _join_two(setting: Setting, atoms: Sequence[tuple[str, str]], numbered: bool) -> Condition:
    """Two conditions; `numbered` where they are too long to stand in one sentence without doubt."""
    (first, first_words), (second, second_words) = atoms
    rng = setting.rng
    is_and = rng.random() < 0.6
    sql = f"{first} {'AND' if is_and else 'OR'} {second}"
    if numbered:
        how = "both of these hold" if is_and else "at least one of these holds"
        words = f"{how}: (1) {first_words}; (2) {second_words}"
    else:
        words = f"{first_words} and {second_words}" if is_and else either(first_words, second_words, rng)
    return Condition(sql, words, (first, second))


def _nest_three(setting: Setting, atoms: Sequence[tuple[str, str]]) -> Condition:
    (a, a_words), (b, b_words), (c, c_words) = atoms
    if setting.rng.random() < 0.5:
        words = f"at least one of these holds: (1) {a_words} and {b_words}; (2) {c_words}"
        parts = (f"{a} OR {c}", f"{b} OR {c}", f"{a} AND {b}")
        return Condition(f"({a} AND {b}) OR {c}", words, parts)
    words = f"{a_words} and, in addition, at least one of these holds: (1) {b_words}; (2) {c_words}"
    parts = (f"{b} OR {c}", f"{a} AND {c}", f"{a} AND {b}")
    return Condition(f"{a} AND ({b} OR {c})", words, parts)


def plain_condition(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    """A comparison of one column with constants: SQL and words."""
    makers: dict[str, Callable[[Setting, ColumnPlan], tuple[str, str]]] = {
        "category": _about_category,
        "measure": _about_measure,
        "date": _about_date,
        "name": _about_name,
    }
    return makers[column.kind](setting, column)


def _about_category(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    name, ref, rng = setting.say(column), setting.ref(column), setting.rng
    one, two = (literal(value) for value in rng.sample(column.pool, 2))
    return rng.choice(
        (
            (f"{ref} = {one}", f"the {name} is {one}"),
            (f"{ref} = {one}", f"the {name} equals {one}"),
            (f"{ref} <> {one}", f"the {name} is not {one}"),
            (f"{ref} IN ({one}, {two})", f"the {name} is one of {one}, {two}"),
            (f"{ref} NOT IN ({one}, {two})", f"the {name} is neither {one} nor {two}"),
        )
    )


def _about_measure(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    name, ref, rng = setting.say(column), setting.ref(column), setting.rng
    value = setting.some_value(column)
    low, high = setting.some_value(column, 0.1, 0.4), setting.some_value(column, 0.6, 0.9)
    return rng.choice(
        (
            (f"{ref} > {value}", f"the {name} is greater than {value}"),
            (f"{ref} > {value}", f"the {name} is above {value}"),
            (f"{ref} >= {value}", f"the {name} is at least {value}"),
            (f"{ref} < {value}", f"the {name} is below {value}"),
            (f"{ref} <= {value}", f"the {name} is at most {value}"),
            (f"{ref} BETWEEN {low} AND {high}", f"the {name} lies between {low} and {high} inclusive"),
        )
    )


def _about_date(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    name, ref, rng = setting.say(column), setting.ref(column), setting.rng
    day = str(setting.some_value(column))
    month = day[:7]
    first, last = str(setting.some_value(column, 0.1, 0.4)), str(setting.some_value(column, 0.6, 0.9))
    return rng.choice(
        (
            (f"{ref} >= '{day}'", f"the {name} is '{day}' or later"),
            (f"{ref} < '{day}'", f"the {name} is before '{day}'"),
            (f"{ref} LIKE '{month}-%'", f"the {name} falls in the month '{month}'"),
            (
                f"{ref} BETWEEN '{first}' AND '{last}'",
                f"the {name} runs from '{first}' to '{last}' inclusive",
            ),
        )
    )


def _about_name(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    name, ref, rng = setting.say(column), setting.ref(column), setting.rng
    value = str(setting.some_value(column))
    return rng.choice(
        (
            (f"{ref} LIKE '{value[0]}%'", f"the {name} starts with the letter '{value[0]}'"),
            (f"{ref} LIKE '%{value[-1]}'", f"the {name} ends with the letter '{value[-1]}'"),
            (f"{ref} <> '{value}'", f"the {name} is not '{value}'"),
            (f"{ref} < '{value}'", f"the {name} comes before '{value}' in the alphabet"),
        )
    )
