"""Questions about figures of figures: a SELECT that reads from a query."""

from __future__ import annotations

from perdure.pipelines.database.draft import Draft
from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.wording import Setting

_INNER = (("SUM", "total"), ("MIN", "lowest"), ("MAX", "highest"))
_OUTER = (("AVG", "average"), ("MIN", "lowest"), ("MAX", "highest"))


def compose_derived(setting: Setting, recipe: Recipe) -> Draft:
    """One figure over the groups that an inner query forms; the inner query has the alias."""
    scenario, rng = setting.scenario, setting.rng
    measure, category = rng.choice(scenario.of_kind("measure")), rng.choice(scenario.of_kind("category"))
    inner, inner_word = rng.choice(_INNER)
    outer, outer_word = rng.choice(_OUTER)
    bound = rng.randint(3, 6)
    figure = f"{inner_word}_{measure.name}"
    alias = f"{outer_word}_{figure}" if recipe.column_alias else ""
    groups = f"SELECT {category.name}, {inner}({measure.name}) AS {figure} FROM {scenario.table}"
    end = f"GROUP BY {category.name}"
    kept = f"HAVING COUNT(*) > {bound}"

    def statement(inner_query: str) -> str:
        named = f" AS {alias}" if alias else ""
        return f"SELECT {outer}({setting.alias}.{figure}){named} FROM ({inner_query}) AS {setting.alias};"

    name, group = setting.say(measure), setting.say(category)
    asked = f"the {outer_word} of these figures" + (f" (named {alias})" if alias else "")
    only = f"each {group} with more than {bound} {scenario.plural}"
    words = rng.choice(
        (
            f"First work out the {inner_word} {name} for {only} in {scenario.table}; then report {asked}.",
            f"Take the {inner_word} {name} of {only} in the {scenario.table} table and return {asked}.",
        )
    )
    words += f" Call the inner result {setting.alias}."
    return Draft(
        statement(f"{groups} {end} {kept}"), words, recipe.skills, probes=(statement(f"{groups} {end}"),)
    )
