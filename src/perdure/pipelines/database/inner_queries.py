"""Filters that depend on other rows: conditions with an inner query, one level deep or two."""

from __future__ import annotations

from perdure.pipelines.database.scenarios import ColumnPlan
from perdure.pipelines.database.wording import Setting, literal

_FIGURES = (("AVG", "average"), ("MIN", "lowest"), ("MAX", "highest"))


def inner_condition(setting: Setting, nested: bool, derived: bool, turn: int) -> tuple[str, str]:
    """A condition with an inner query, in SQL and words.

    `nested` asks for a query in a query; `derived` for one that MySQL accepts while it changes the same table
    (the figure comes out of a derived table, which is nested too); `turn` is its place in the filter, and
    different turns take different columns.
    """
    measures = setting.scenario.of_kind("measure")
    measure = measures[turn % len(measures)]
    category = setting.scenario.of_kind("category")[turn]
    if derived:
        return _through_a_derived_table(setting, measure, category)
    if nested:
        return _two_levels(setting, measure, category)
    return _one_level(setting, measure, category)


def _one_level(setting: Setting, measure: ColumnPlan, category: ColumnPlan) -> tuple[str, str]:
    table, plural, rng = setting.scenario.table, setting.scenario.plural, setting.rng
    ref, name, group = setting.ref(measure), setting.say(measure), setting.say(category)
    sign, side = rng.choice(((">", "above"), ("<", "below")))
    value, bound = literal(rng.choice(category.pool)), setting.some_value(measure, 0.7, 0.95)
    figure, figure_word = rng.choice(_FIGURES)
    same = "=" if figure != "AVG" else sign
    is_same = "equal to" if figure != "AVG" else side
    choices = [
        (
            f"{ref} {same} (SELECT {figure}({measure.name}) FROM {table})",
            f"the {name} is {is_same} the {figure_word} {name} of all {plural}",
        ),
        (
            f"{ref} {sign} (SELECT AVG({measure.name}) FROM {table} WHERE {category.name} = {value})",
            f"the {name} is {side} the average {name} of the {plural} whose {group} is {value}",
        ),
        (
            f"{setting.ref(category)} IN "
            f"(SELECT {category.name} FROM {table} WHERE {measure.name} > {bound})",
            f"the {group} is one that has some {setting.scenario.noun} with a {name} greater than {bound}",
        ),
    ]
    if setting.alias:
        alike = f"i.{category.name} = {setting.ref(category)}"
        inner = f"SELECT AVG(i.{measure.name}) FROM {table} AS i WHERE {alike}"
        choices.append(
            (f"{ref} {sign} ({inner})", f"the {name} is {side} the average {name} of its own {group}"),
        )
    return rng.choice(choices)


def _two_levels(setting: Setting, measure: ColumnPlan, category: ColumnPlan) -> tuple[str, str]:
    table, plural, rng = setting.scenario.table, setting.scenario.plural, setting.rng
    ref, name, group = setting.ref(measure), setting.say(measure), setting.say(category)
    noun = setting.scenario.noun
    sign, side = rng.choice(((">", "above"), ("<", "below")))
    figure, figure_word = rng.choice(_FIGURES[1:])
    outer, outer_word = rng.choice(_FIGURES)
    share = f"SELECT {figure}({measure.name}) AS figure FROM {table} GROUP BY {category.name}"
    far = f"{measure.name} > (SELECT AVG({measure.name}) * 1.5 FROM {table})"
    return rng.choice(
        (
            (
                f"{ref} {sign} (SELECT {outer}(g.figure) FROM ({share}) AS g)",
                f"the {name} is {side} the {outer_word} of the {figure_word} {name} values per {group}",
            ),
            (
                f"{setting.ref(category)} IN (SELECT {category.name} FROM {table} WHERE {far})",
                f"the {group} is one that has some {noun} with a {name} greater than 1.5 times "
                f"the average {name} of all {plural}",
            ),
        )
    )


def _through_a_derived_table(setting: Setting, measure: ColumnPlan, category: ColumnPlan) -> tuple[str, str]:
    table, plural, rng = setting.scenario.table, setting.scenario.plural, setting.rng
    noun, name, group = setting.scenario.noun, setting.say(measure), setting.say(category)
    sign, side = rng.choice(((">", "above"), ("<", "below")))
    value, bound = literal(rng.choice(category.pool)), setting.some_value(measure, 0.7, 0.95)
    average = f"SELECT AVG({measure.name}) AS figure FROM {table}"
    chosen = f"SELECT DISTINCT {category.name} FROM {table} WHERE {measure.name} > {bound}"
    return rng.choice(
        (
            (
                f"{measure.name} {sign} (SELECT s.figure FROM ({average}) AS s)",
                f"the {name} is {side} the average {name} of all {plural}",
            ),
            (
                f"{measure.name} {sign} "
                f"(SELECT s.figure FROM ({average} WHERE {category.name} = {value}) AS s)",
                f"the {name} is {side} the average {name} of the {plural} whose {group} is {value}",
            ),
            (
                f"{category.name} IN (SELECT s.{category.name} FROM ({chosen}) AS s)",
                f"the {group} is one that has some {noun} with a {name} greater than {bound}",
            ),
        )
    )
