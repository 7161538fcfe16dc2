from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.core.errors import EnvironmentUnavailable
from perdure.environments.database.engine import Column, SqlEngine, SqlReply, Table
from perdure.environments.database.skills import SKILLS, label_skills
from perdure.environments.database.sqlite.engine import SqliteEngine
from perdure.pipelines.database.catalogue import SCENARIOS
from perdure.pipelines.database.draft import Draft
from perdure.pipelines.database.mutation import compose_mutation
from perdure.pipelines.database.recipes import MOST_SKILLS, draw_recipe
from perdure.pipelines.database.scenarios import Scenario
from perdure.pipelines.database.select import compose_select
from perdure.pipelines.database.tasks import main, make_tasks, render
from perdure.pipelines.database.verification import verify
from perdure.pipelines.database.wording import Setting

STOCK = Table(
    "stock",
    (Column("item_id", "INT"), Column("shelf", "TEXT"), Column("units", "INT")),
    ((1, "Left", 4), (2, "Left", 9), (3, "Right", 9), (4, "Right", 2)),
)
GOOD = Draft(
    "SELECT shelf, units FROM stock WHERE units > 3 ORDER BY shelf ASC, item_id ASC LIMIT 2;",
    "",
    frozenset(["select", "where_single_condition", "order_by_multiple_columns_same_direction", "limit_only"]),
    ("SELECT shelf, units FROM stock WHERE units > 3 ORDER BY shelf ASC, item_id ASC;",),
    "SELECT shelf, item_id FROM stock WHERE units > 3;",
    2,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    engine = SqliteEngine()
    yield engine
    engine.close()


@example(17010, {})  # a derived table beside a HAVING of its own
@given(st.integers(0, 2**32), st.dictionaries(st.sampled_from(sorted(SKILLS)), st.integers(0, 50)))
def test_a_statement_needs_the_skills_of_its_recipe(seed: int, counts: dict[str, int]) -> None:
    rng = Random(seed)
    recipe = draw_recipe(rng, counts)
    scenario = rng.choice(SCENARIOS)
    alias = "t" if recipe.table_alias and recipe.verb in ("select", "insert") else ""
    setting = Setting(scenario, scenario.rows(rng), rng, identifiers=True, alias=alias)
    draft = (compose_select if recipe.verb == "select" else compose_mutation)(setting, recipe)
    assert label_skills(draft.sql) == draft.skills == recipe.skills
    assert 1 <= len(draft.skills) <= MOST_SKILLS
    assert scenario.table in draft.instruction


def test_rare_skills_are_drawn_more_often() -> None:
    counts = dict.fromkeys(SKILLS, 100) | {"having_aggregate_calculation": 0}
    drawn = [draw_recipe(Random(i), counts).skills for i in range(50)]
    even = [draw_recipe(Random(i), {}).skills for i in range(50)]
    rare = sum("having_aggregate_calculation" in skills for skills in drawn)
    assert rare > 2 * sum("having_aggregate_calculation" in skills for skills in even)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.table)
def test_scenarios_can_carry_every_question(scenario: Scenario) -> None:
    assert 4 <= len(scenario.columns) <= 7
    assert len(scenario.of_kind("key")) == 1
    assert len(scenario.of_kind("category")) >= 2
    assert len(scenario.of_kind("measure")) >= 2
    names = [column.name for column in scenario.columns]
    assert not any(a != b and a in b for a in names for b in names), "conditions tell columns apart by name"
    texts = {value for column in scenario.columns for value in column.pool}
    assert all(re.fullmatch(r"[A-Za-z0-9]+( [A-Za-z0-9]+)*", text) for text in texts)
    assert all(len(set(map(str.casefold, column.pool))) == len(column.pool) for column in scenario.columns)


@given(st.sampled_from(SCENARIOS), st.integers())
def test_rows_fit_their_columns(scenario: Scenario, seed: int) -> None:
    rows = scenario.rows(Random(seed))
    assert 20 <= len(rows) <= 50
    keys = [row[scenario.columns.index(scenario.key)] for row in rows]
    assert len(set(keys)) == len(keys)
    for row in rows:
        for cell, column in zip(row, scenario.columns, strict=True):
            assert isinstance(cell, int if column.sql_type == "INT" else str)
            assert column.kind != "measure" or column.low <= int(cell) <= column.high
            assert column.kind != "date" or str(cell).startswith(f"{column.low}-")


def test_a_good_question_passes(engine: SqlEngine) -> None:
    verified = verify(GOOD, STOCK, engine)
    assert verified is not None
    assert verified.rows == (("Left", 4), ("Left", 9))


BAD = {
    "another skill than stated": replace(GOOD, skills=GOOD.skills | {"delete"}),
    "no rows": replace(GOOD, sql=GOOD.sql.replace("> 3", "> 300")),
    "an error": replace(GOOD, sql=GOOD.sql.replace("units >", "pieces >")),
    "a part without effect": replace(GOOD, probes=(GOOD.sql.replace("> 3", "> 1"), GOOD.sql)),
    "ties at the cut": replace(GOOD, sort_keys="SELECT shelf, units > 0 FROM stock WHERE units > 3;"),
    "a second key without effect": replace(GOOD, sort_keys="SELECT item_id, shelf FROM stock;"),
    "a first key without effect": replace(
        GOOD, sort_keys="SELECT shelf, item_id FROM stock WHERE shelf = 'Left';"
    ),
    "several rows in no order": Draft("SELECT shelf FROM stock;", "", frozenset({"select"})),
    "a NULL as answer": Draft("SELECT MAX(NULL) FROM stock;", "", frozenset({"select"})),
    "a change that changes nothing": Draft(
        "UPDATE stock SET units = 9 WHERE item_id = 2;", "", frozenset({"update", "where_single_condition"})
    ),
    "a change that leaves nothing": Draft("DELETE FROM stock;", "", frozenset({"delete"})),
    "a change with a part without effect": Draft(
        "DELETE FROM stock WHERE units > 5;",
        "",
        frozenset({"delete", "where_single_condition"}),
        ("DELETE FROM stock WHERE units > 4;",),
    ),
    "a change that is refused": Draft("DELETE FROM stack LIMIT 1;", "", frozenset({"delete", "limit_only"})),
}


@pytest.mark.parametrize("draft", BAD.values(), ids=BAD.keys())
def test_a_bad_question_is_turned_down(draft: Draft, engine: SqlEngine) -> None:
    assert verify(draft, STOCK, engine) is None


def test_a_seed_fixes_the_tasks(engine: SqlEngine) -> None:
    first, again, other = (render(make_tasks(seed, engine, total=4, least=0)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_an_engine_that_refuses_everything_ends_the_search() -> None:
    class Refusing(SqliteEngine):
        def execute(self, sql: str) -> SqlReply:
            return super().execute("SELECT nothing FROM nowhere;")

    with pytest.raises(EnvironmentUnavailable, match="0 of 20"):
        make_tasks(0, Refusing())


def test_the_command_names_a_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(tmp_path / "nowhere" / "tasks.json")])
    assert stopped.value.code == 2
    assert "there is no folder" in capsys.readouterr().err
