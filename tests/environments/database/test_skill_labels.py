from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.database.skills import SKILLS, label_skills

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "lifelongagentbench" / "db_bench.json"

EXAMPLES = {
    "SELECT a FROM t": "select",
    "SELECT a AS b FROM t AS x": "select column_alias table_alias",
    "SELECT a FROM t WHERE a = 1": "select where_single_condition",
    "SELECT a FROM t WHERE a BETWEEN 1 AND 2": "select where_single_condition",
    "SELECT a FROM t WHERE a = 1 OR b = 2": "select where_multiple_conditions",
    "SELECT a FROM t WHERE a = 1 AND b = 2 AND c = 3": "select where_nested_conditions",
    "SELECT a FROM t WHERE (a = 1 AND b = 2)": "select where_single_condition",
    "SELECT a FROM t LIMIT 2, 5": "select limit_and_offset",
    "SELECT a FROM t ORDER BY a DESC LIMIT 5": "select order_by_single_column limit_only",
    "SELECT a FROM t ORDER BY a, b": "select order_by_multiple_columns_same_direction",
    "SELECT a FROM t ORDER BY a, b DESC": "select order_by_multiple_columns_different_directions",
    "SELECT a FROM t GROUP BY a HAVING SUM(b) > 1 OR COUNT(*) > 2": (
        "select group_by_single_column having_multiple_conditions_with_aggregate"
    ),
    "SELECT a FROM t GROUP BY a, b HAVING MAX(c) - MIN(c) > 1": (
        "select group_by_multiple_columns having_single_condition_with_aggregate having_aggregate_calculation"
    ),
    "SELECT a FROM t WHERE a > (SELECT AVG(a) FROM t)": "select where_single_condition subquery_single",
    "SELECT a FROM t WHERE a > (SELECT 1) AND b < (SELECT 2)": (
        "select where_multiple_conditions subquery_multiple"
    ),
    "SELECT a FROM t WHERE a IN (SELECT 1 UNION SELECT 2)": "select where_single_condition subquery_single",
    "SELECT a FROM t WHERE a > (SELECT x FROM (SELECT 1 AS x) AS s)": (
        "select where_single_condition subquery_nested"
    ),
    "DELETE FROM t WHERE a > (SELECT s.x FROM (SELECT AVG(a) AS x FROM t) AS s)": (
        "delete select where_single_condition subquery_nested table_alias"
    ),
    "DELETE FROM t ORDER BY a LIMIT 3": "delete order_by_single_column limit_only",
    "UPDATE t SET a = 1 WHERE b = 2": "update where_single_condition",
    "INSERT INTO t (a) VALUES (1)": "insert",
    "INSERT INTO t (a) SELECT a + 1 FROM t WHERE b = 2": "insert select where_single_condition",
    "DROP TABLE t": "",
    "SELECT a FROM t LIMIT 1; DELETE FROM t": "select limit_only delete",
}

HOSTILE = [
    "",
    ";;;",
    "\x00",
    "'",
    "/*",
    "SELECT",
    "SELECT \ud800",
    "WITH a AS (",
    "GRANT ALL ON *.* TO x",
    "LOAD DATA INFILE 'x'",
    "(" * 5000,
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT " + "f(" * 3000 + "1" + ")" * 3000,
    "CASE WHEN " * 3000,
    "SELECT 1 WHERE " + " AND ".join(["a=1"] * 3000),
    "x" * 100_000,
]


def test_there_are_22_skills_with_a_line_each() -> None:
    assert len(SKILLS) == 22
    assert all(text and "\n" not in text for text in SKILLS.values())


@pytest.mark.parametrize(("sql", "names"), EXAMPLES.items())
def test_rules_by_example(sql: str, names: str) -> None:
    assert label_skills(sql) == frozenset(names.split())
    assert label_skills(sql) <= SKILLS.keys()


def test_examples_cover_every_skill() -> None:
    assert {name for names in EXAMPLES.values() for name in names.split()} == set(SKILLS)


def test_published_labels_are_reproduced() -> None:
    if not PUBLISHED.exists():
        pytest.skip(f"the published tasks are not at {PUBLISHED}")
    entries = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    misses = {
        index: sorted(label_skills(entry["answer_info"]["sql"]) ^ set(entry["skill_list"]))
        for index, entry in entries.items()
        if label_skills(entry["answer_info"]["sql"]) != set(entry["skill_list"])
    }
    print(f"labels equal on {len(entries) - len(misses)}/{len(entries)}")
    assert not misses


@pytest.mark.parametrize("sql", HOSTILE, ids=lambda sql: repr(sql[:20]))
def test_hostile_text_has_only_known_labels(sql: str) -> None:
    assert label_skills(sql) <= SKILLS.keys()


@given(st.text() | st.text("SELCTFROMWHabt ()',;*<>=-/`\"\\0123456789", max_size=60))
def test_any_text_is_labelled_without_an_error(text: str) -> None:
    assert label_skills(text) <= SKILLS.keys()
    assert label_skills(f"SELECT {text}") <= SKILLS.keys()


CLAUSES: dict[str, dict[str, set[str]]] = {
    "columns": {
        "a": set(),
        "a AS z": {"column_alias"},
        "COUNT(*) AS n, a": {"column_alias"},
        "MAX(b)": set(),
    },
    "source": {"t": set(), "t AS x": {"table_alias"}, "t x": {"table_alias"}, "`t`": set()},
    "where": {
        "": set(),
        "WHERE a = 1": {"where_single_condition"},
        "WHERE NOT a LIKE 'x AND y OR z'": {"where_single_condition"},
        "WHERE a IN (1, 2) OR b IS NULL": {"where_multiple_conditions"},
        "WHERE (a = 1 OR b = 2) AND c <> 3": {"where_nested_conditions"},
        "WHERE a < (SELECT MAX(a) FROM t)": {"where_single_condition", "subquery_single"},
        "WHERE a < (SELECT 1) OR b IN (SELECT b FROM u)": {"where_multiple_conditions", "subquery_multiple"},
        "WHERE a IN (SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t))": {
            "where_single_condition",
            "subquery_nested",
        },
    },
    "group": {
        "": set(),
        "GROUP BY a": {"group_by_single_column"},
        "GROUP BY a, b": {"group_by_multiple_columns"},
    },
    "having": {
        "": set(),
        "HAVING COUNT(*) > 1": {"having_single_condition_with_aggregate"},
        "HAVING SUM(a) / 2 > 1": {"having_single_condition_with_aggregate", "having_aggregate_calculation"},
        "HAVING SUM(a) > 1 AND MIN(a) < 3": {"having_multiple_conditions_with_aggregate"},
    },
    "order": {
        "": set(),
        "ORDER BY a": {"order_by_single_column"},
        "ORDER BY a ASC, b ASC": {"order_by_multiple_columns_same_direction"},
        "ORDER BY a DESC, b": {"order_by_multiple_columns_different_directions"},
    },
    "limit": {"": set(), "LIMIT 3": {"limit_only"}, "LIMIT 3 OFFSET 4": {"limit_and_offset"}},
}


@given(st.fixed_dictionaries({name: st.sampled_from(sorted(texts)) for name, texts in CLAUSES.items()}))
def test_labels_of_a_statement_are_those_of_its_clauses(chosen: dict[str, str]) -> None:
    rest = " ".join(chosen[name] for name in ("where", "group", "having", "order", "limit"))
    sql = f"SELECT {chosen['columns']} FROM {chosen['source']} {rest}"
    expected = {"select"}.union(*(CLAUSES[name][text] for name, text in chosen.items()))
    assert label_skills(sql) == expected


@given(
    st.sampled_from(["", "WHERE a = 1", "WHERE a = 1 AND b = 2"]), st.sampled_from(["", "ORDER BY a LIMIT 2"])
)
def test_labels_of_changes_do_not_include_reading(where: str, cut: str) -> None:
    for verb, head in (("update", "UPDATE t SET a = a + 1"), ("delete", "DELETE FROM t")):
        labels = label_skills(f"{head} {where} {cut}")
        assert verb in labels
        assert "select" not in labels
        assert len(labels) == 1 + bool(where) + 2 * bool(cut)
