"""Questions that are answered by changing the table."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.pipelines.database.conditions import Condition, where_condition
from perdure.pipelines.database.draft import Draft
from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.scenarios import ColumnPlan
from perdure.pipelines.database.sorting import SortKey, sort_words, sorted_by
from perdure.pipelines.database.wording import Setting, enumerate_words, kind_of, literal


def compose_mutation(setting: Setting, recipe: Recipe) -> Draft:
    """A question that needs exactly the skills of `recipe`, whose verb is not `select`."""
    if recipe.verb == "insert":
        return _copied_rows(setting, recipe) if recipe.copies else _new_rows(setting, recipe)
    return _changed_rows(setting, recipe)


def _new_rows(setting: Setting, recipe: Recipe) -> Draft:
    """INSERT … VALUES of one to three rows, sometimes with a column left unset."""
    scenario, rng = setting.scenario, setting.rng
    columns = list(scenario.columns)
    dropped = rng.choice(scenario.of_kind("measure", "date")) if rng.random() < 0.4 else None
    if dropped is not None:
        columns.remove(dropped)
    count = rng.choice((1, 1, 2, 3))
    rows = [[literal(column.draw(rng, len(setting.rows) + i)) for column in columns] for i in range(count)]
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    names = ", ".join(column.name for column in columns)
    said = [
        ", ".join(f"{setting.say(c)} {value}" for c, value in zip(columns, row, strict=True)) for row in rows
    ]
    unset = f" The {setting.say(dropped)} stays unset." if dropped else ""
    if count == 1:
        words = rng.choice(
            (
                f"Add a new {scenario.noun} to {scenario.table}: {said[0]}.{unset}",
                f"Record one more {scenario.noun} in the {scenario.table} table with {said[0]}.{unset}",
                f"Insert a row into {scenario.table} with these values: {said[0]}.{unset}",
            )
        )
    else:
        listed = "; ".join(f"({i}) {text}" for i, text in enumerate(said, 1))
        words = f"Add {count} {scenario.plural} to the {scenario.table} table: {listed}.{unset}"
    return Draft(f"INSERT INTO {scenario.table} ({names}) VALUES {values};", words, recipe.skills)


def _copied_rows(setting: Setting, recipe: Recipe) -> Draft:
    """INSERT … SELECT from the same table: copies under new keys, one value changed."""
    scenario, rng = setting.scenario, setting.rng
    condition = where_condition(setting, recipe)
    shift = rng.choice((100, 500, 1000, 5000))
    changed = rng.choice(scenario.of_kind("measure", "category"))
    if changed.kind == "measure":
        extra = rng.choice((1, 5, 10))
        value, said = f"{setting.ref(changed)} + {extra}", f"{setting.say(changed)} raised by {extra}"
    else:
        value = literal(rng.choice(changed.pool))
        said = f"{setting.say(changed)} set to {value}"
    key = f"{setting.ref(scenario.key)} + {shift}"
    picked = {scenario.key: key, changed: value}
    values = ", ".join(picked.get(column, setting.ref(column)) for column in scenario.columns)
    into = f"INSERT INTO {scenario.table} ({', '.join(column.name for column in scenario.columns)})"

    def statement(where: str) -> str:
        return f"{into} SELECT {values} FROM {setting.source} WHERE {where};"

    words = rng.choice(
        (
            f"Copy every {scenario.noun} of {scenario.table} where {condition.words}.",
            f"In {scenario.table}, add a duplicate of each {scenario.noun} where {condition.words}.",
        )
    )
    words += (
        f" A copy has its {setting.say(scenario.key)} raised by {shift} and its {said}; all else is the same."
    )
    if setting.alias:
        words += f" Read the table under the alias {setting.alias}."
    probes = tuple(statement(part) for part in (*condition.parts, "1 = 1"))
    return Draft(statement(condition.sql), words, recipe.skills, probes)


@dataclass(frozen=True)
class _Change:
    """The head of an UPDATE or a DELETE, and its sentence with `{rows}` where the rows are named."""

    sql: str
    words: str


def _changed_rows(setting: Setting, recipe: Recipe) -> Draft:
    """UPDATE or DELETE of the rows that pass a filter, or of the first of them in some order."""
    condition = where_condition(setting, recipe) if recipe.where != "none" else None
    change = _deletion(setting) if recipe.verb == "delete" else _assignment(setting)
    order = sorted_by(setting, recipe, _keys(setting, recipe))
    count = setting.rng.randint(2, 4)
    tail = f" ORDER BY {', '.join(key.sql for key in order)} LIMIT {count}" if order else ""
    where = f" WHERE {condition.sql}" if condition else ""
    probes = [f"{change.sql} WHERE {part}{tail};" for part in (condition.parts if condition else ())]
    probes += [f"{change.sql}{tail};"] if where else []
    probes += [f"{change.sql}{where};"] if tail else []
    keys = ", ".join(key.expression for key in order)
    return Draft(
        f"{change.sql}{where}{tail};",
        _change_words(setting, change, condition, order, count),
        recipe.skills,
        tuple(probes),
        f"SELECT {keys} FROM {setting.scenario.table}{where};" if order else "",
        len(order),
    )


def _change_words(
    setting: Setting, change: _Change, condition: Condition | None, order: tuple[SortKey, ...], count: int
) -> str:
    scenario = setting.scenario
    which = f" where {condition.words}" if condition else ""
    if not order:
        words = change.words.format(rows=f"every {scenario.noun} in {scenario.table}{which}")
        return f"{words[0].upper()}{words[1:]}."
    taken = f"Take the {scenario.plural} of {scenario.table}{which}."
    cut = change.words.format(rows=f"the first {count} rows, and no others")
    return f"{taken} {sort_words(setting, order)} {cut[0].upper()}{cut[1:]}."


def _keys(setting: Setting, recipe: Recipe) -> list[tuple[str, str, str]]:
    """Sort keys (SQL, words, kind) for a cut: the last one leaves no ties."""
    scenario = setting.scenario
    last = setting.rng.choice([scenario.key, *scenario.of_kind("measure")])
    first = setting.rng.choice(scenario.of_kind("category"))
    chosen = [last] if recipe.order == "single" else [first, last]
    return [(c.name, f"the {setting.say(c)}", kind_of(c)) for c in chosen]


def _deletion(setting: Setting) -> _Change:
    word = setting.rng.choice(("delete", "remove"))
    return _Change(f"DELETE FROM {setting.scenario.table}", f"{word} {{rows}}")


def _assignment(setting: Setting) -> _Change:
    """One or two columns get a new value; the values do not depend on one another."""
    scenario, rng = setting.scenario, setting.rng
    columns = rng.sample(scenario.of_kind("measure", "category"), rng.choice((1, 1, 2)))
    changes = [_new_value(setting, column) for column in columns]
    assignments = ", ".join(f"{c.name} = {sql}" for c, (sql, _) in zip(columns, changes, strict=True))
    words = enumerate_words([words for _, words in changes])
    return _Change(f"UPDATE {scenario.table} SET {assignments}", f"for {{rows}}: {words}")


def _new_value(setting: Setting, column: ColumnPlan) -> tuple[str, str]:
    """The right side of an assignment, and the words for the whole of it."""
    rng, name = setting.rng, setting.say(column)
    if column.kind == "category":
        value = literal(rng.choice((*column.pool, "Unknown")))
        return value, rng.choice((f"set the {name} to {value}", f"change the {name} to {value}"))
    amount = rng.choice((2, 3, 5, 10, 25))
    choices = [
        (f"{column.name} + {amount}", f"raise the {name} by {amount}"),
        (f"{column.name} * 2", f"double the {name}"),
        (str(amount), f"set the {name} to {amount}"),
    ]
    if column.low >= amount:
        choices.append((f"{column.name} - {amount}", f"lower the {name} by {amount}"))
    return rng.choice(choices)
