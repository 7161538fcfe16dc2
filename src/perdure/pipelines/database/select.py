"""Questions that are answered by a SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure.pipelines.database.aggregates import Item, count_item, figure_item, having_condition
from perdure.pipelines.database.conditions import Condition, where_condition
from perdure.pipelines.database.derived import compose_derived
from perdure.pipelines.database.draft import Draft
from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.scenarios import ColumnPlan
from perdure.pipelines.database.sorting import SortKey, sort_words, sorted_by
from perdure.pipelines.database.wording import Setting, enumerate_words, kind_of


@dataclass(frozen=True)
class Select:
    """The clauses of one statement, so that one of them can be left out."""

    items: Sequence[Item]
    source: str
    where: str = ""
    group: tuple[str, ...] = ()
    having: str = ""
    order: tuple[SortKey, ...] = ()
    limit: str = ""

    @property
    def sql(self) -> str:
        """The statement, ended by a semicolon."""
        clauses = (
            f"SELECT {', '.join(item.declaration for item in self.items)} FROM {self.source}",
            f"WHERE {self.where}" if self.where else "",
            f"GROUP BY {', '.join(self.group)}" if self.group else "",
            f"HAVING {self.having}" if self.having else "",
            f"ORDER BY {', '.join(key.sql for key in self.order)}" if self.order else "",
            self.limit,
        )
        return " ".join(clause for clause in clauses if clause) + ";"

    @property
    def sort_keys(self) -> str:
        """A query for the sort keys of every row before the LIMIT; empty where nothing is sorted."""
        if not self.order:
            return ""
        keys = [Item(key.expression, "", "number") for key in self.order]
        return replace(self, items=keys, order=(), limit="").sql

    def without_parts(self, where: Sequence[str], having: Sequence[str]) -> tuple[str, ...]:
        """The statement less one clause or one condition, each."""
        weaker = [replace(self, where=text) for text in where]
        weaker += [replace(self, having=text) for text in having]
        weaker += [replace(self, limit="")] if self.limit else []
        weaker += [replace(self, where="")] if self.where else []
        weaker += [replace(self, having="")] if self.having else []
        return tuple(select.sql for select in weaker)


def compose_select(setting: Setting, recipe: Recipe) -> Draft:
    """A question that needs exactly the skills of `recipe`."""
    if recipe.reads_derived:
        return compose_derived(setting, recipe)
    condition = where_condition(setting, recipe) if recipe.where != "none" else None
    if recipe.group != "none":
        return _about_groups(setting, recipe, condition)
    if recipe.order != "none" or (not recipe.column_alias and setting.rng.random() < 0.4):
        return _about_rows(setting, recipe, condition)
    return _about_figures(setting, recipe, condition)


def _finish(
    recipe: Recipe, select: Select, sentences: Sequence[str], parts: Sequence[Condition | None]
) -> Draft:
    where, having = (part.parts if part else () for part in parts)
    return Draft(
        select.sql,
        " ".join(sentence for sentence in sentences if sentence),
        recipe.skills,
        select.without_parts(where, having),
        select.sort_keys,
        len(select.order),
    )


def _about_rows(setting: Setting, recipe: Recipe, condition: Condition | None) -> Draft:
    """Some columns of the rows that pass the filter."""
    scenario, rng = setting.scenario, setting.rng
    columns = rng.sample(scenario.columns, rng.randint(2, min(4, len(scenario.columns))))
    items = [Item(setting.ref(c), f"the {setting.say(c)}", kind_of(c)) for c in columns]
    if recipe.column_alias:
        items[-1] = _named_item(setting, columns[-1])
    order = sorted_by(setting, recipe, _row_keys(setting, recipe))
    limit, limit_words = _cut(setting, recipe, most=8)
    select = Select(items, setting.source, condition.sql if condition else "", order=order, limit=limit)
    listed = enumerate_words([item.words for item in items])
    which = f" where {condition.words}" if condition else ""
    opener = rng.choice(
        (
            f"List {listed} of every {scenario.noun} in {scenario.table}{which}.",
            f"From the {scenario.table} table, show {listed} of each {scenario.noun}{which}.",
            f"For all {scenario.plural} in the table {scenario.table}{which}, return {listed}.",
            f"We need {listed} for every {scenario.noun} on record in {scenario.table}{which}.",
        )
    )
    sentences = [
        opener,
        _column_order(setting),
        sort_words(setting, order),
        limit_words,
        _short_name(setting),
    ]
    return _finish(recipe, select, sentences, (condition, None))


def _named_item(setting: Setting, column: ColumnPlan) -> Item:
    """A column, or a sum or product of two, under a new name."""
    rng = setting.rng
    measures = setting.scenario.of_kind("measure")
    if column.kind != "measure" or rng.random() < 0.4:
        alias = f"{column.name.split('_')[0]}_shown"
        return Item(setting.ref(column), f"the {setting.say(column)}", kind_of(column), alias)
    other = rng.choice([measure for measure in measures if measure is not column])
    sign, word, stem = rng.choice((("+", "plus", "sum"), ("*", "times", "product"), ("-", "minus", "gap")))
    return Item(
        f"{setting.ref(column)} {sign} {setting.ref(other)}",
        f"the {setting.say(column)} {word} the {setting.say(other)}",
        "number",
        f"{column.name.split('_')[0]}_{other.name.split('_')[0]}_{stem}",
    )


def _row_keys(setting: Setting, recipe: Recipe) -> list[tuple[str, str, str]]:
    """What to sort rows by (SQL, words, kind): the last key leaves no ties."""
    scenario, rng = setting.scenario, setting.rng
    last = rng.choice([scenario.key, *scenario.of_kind("measure")])
    first = rng.choice(scenario.of_kind("category", "name"))
    chosen = [last] if recipe.order == "single" else [first, last]
    return [(setting.ref(c), f"the {setting.say(c)}", kind_of(c)) for c in chosen]


def _about_figures(setting: Setting, recipe: Recipe, condition: Condition | None) -> Draft:
    """One row of counts, totals and extremes."""
    scenario, rng = setting.scenario, setting.rng
    measures = rng.sample(scenario.of_kind("measure"), 2)
    items = [figure_item(setting, measure, recipe.column_alias) for measure in measures]
    if rng.random() < 0.5:
        items[0] = count_item(setting, recipe.column_alias)
    items = items[: rng.randint(1, 2)]
    select = Select(items, setting.source, condition.sql if condition else "")
    listed = enumerate_words([item.words for item in items])
    which = f" where {condition.words}" if condition else ""
    opener = rng.choice(
        (
            f"Over the {scenario.plural} in {scenario.table}{which}, compute {listed}.",
            f"Work out {listed} for all {scenario.plural} of the table {scenario.table}{which}.",
            f"Considering every {scenario.noun} in {scenario.table}{which}, report {listed}.",
        )
    )
    order = _column_order(setting) if len(items) > 1 else ""
    return _finish(recipe, select, [opener, order, _short_name(setting)], (condition, None))


def _about_groups(setting: Setting, recipe: Recipe, condition: Condition | None) -> Draft:
    """One row for each value, or pair of values, of a column."""
    scenario, rng = setting.scenario, setting.rng
    columns = rng.sample(scenario.of_kind("category"), 1 if recipe.group == "single" else 2)
    items = [Item(setting.ref(c), f"the {setting.say(c)}", "text") for c in columns]
    figures = [
        figure_item(setting, m, recipe.column_alias) for m in rng.sample(scenario.of_kind("measure"), 1)
    ]
    figures += [count_item(setting, recipe.column_alias)] if rng.random() < 0.6 else []
    rng.shuffle(figures)
    having = having_condition(setting, recipe, columns) if recipe.having != "none" else None
    order = sorted_by(setting, recipe, _group_keys(setting, recipe, items, figures))
    limit, limit_words = _cut(setting, recipe, most=3)
    select = Select(
        [*items, *figures],
        setting.source,
        condition.sql if condition else "",
        tuple(setting.ref(column) for column in columns),
        having.sql if having else "",
        order,
        limit,
    )
    opener = _group_opener(setting, columns, select.items)
    sentences = [
        opener,
        _column_order(setting),
        f"Use only {scenario.plural} where {condition.words}." if condition else "",
        f"Keep only groups where {having.words}." if having else "",
        sort_words(setting, order),
        limit_words,
        _short_name(setting),
    ]
    return _finish(recipe, select, sentences, (condition, having))


def _group_opener(setting: Setting, columns: Sequence[ColumnPlan], items: Sequence[Item]) -> str:
    table, plural = setting.scenario.table, setting.scenario.plural
    names = enumerate_words([setting.say(column) for column in columns])
    each = names if len(columns) == 1 else f"combination of {names}"
    listed = enumerate_words([item.words for item in items])
    return setting.rng.choice(
        (
            f"For each {each} in {table}, give {listed}.",
            f"Group the {plural} of the {table} table by {names} and return {listed}.",
            f"Summarise {table}: one row for every {each}, with {listed}.",
        )
    )


def _group_keys(
    setting: Setting, recipe: Recipe, columns: Sequence[Item], figures: Sequence[Item]
) -> list[tuple[str, str, str]]:
    """What to sort groups by. Of several keys the first one may leave ties, the last one does not."""
    rng = setting.rng
    if recipe.order == "single":
        chosen = rng.choice([*figures, *columns[:1]])
        keys = [chosen]
    elif recipe.group == "multiple":
        keys = [columns[0], rng.choice((columns[1], figures[0]))]
    else:
        keys = [count_item(setting, named=False), columns[0]]
    return [(item.sql, item.plain_words, item.kind) for item in keys]


def _cut(setting: Setting, recipe: Recipe, most: int) -> tuple[str, str]:
    """LIMIT in SQL and in words."""
    rng = setting.rng
    if recipe.limit == "none":
        return "", ""
    count, skipped = rng.randint(1, most), rng.randint(1, most)
    rows = "row" if count == 1 else f"{count} rows"
    if recipe.limit == "only":
        return f"LIMIT {count}", rng.choice(
            (f"Return only the first {rows}.", f"Stop after the first {rows}.")
        )
    skipped_rows = "first row" if skipped == 1 else f"first {skipped} rows"
    words = rng.choice(
        (
            f"Leave out the {skipped_rows} and return the next {rows}.",
            f"Skip the {skipped_rows}, then return the {rows} that follow{'s' if count == 1 else ''}.",
        )
    )
    return rng.choice((f"LIMIT {count} OFFSET {skipped}", f"LIMIT {skipped}, {count}")), words


def _column_order(setting: Setting) -> str:
    return setting.rng.choice(("Return the columns in this order.", "Keep the columns in the order named."))


def _short_name(setting: Setting) -> str:
    if not setting.alias:
        return ""
    return setting.rng.choice(
        (
            f"In the statement, give the table the alias {setting.alias}.",
            f"Refer to the table by the short name {setting.alias}.",
        )
    )
