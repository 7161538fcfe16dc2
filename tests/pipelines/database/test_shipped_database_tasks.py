from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from perdure.environments.database.engine import Column, SqlEngine, Table
from perdure.environments.database.skills import SKILLS, label_skills
from perdure.environments.database.sqlite.engine import SqliteEngine
from perdure.pipelines.database.tasks import main


@cache
def shipped() -> dict[str, Any]:
    return dict(json.loads(shipped_text()))


def shipped_text() -> str:
    return (files("perdure.environments.database") / "data" / "tasks.json").read_text(encoding="utf-8")


def table_of(entry: dict[str, Any]) -> Table:
    info = entry["table_info"]
    columns = tuple(Column(column["name"], column["type"]) for column in info["column_info_list"])
    return Table(info["name"], columns, tuple(tuple(row) for row in info["row_list"]))


def result_of(entry: dict[str, Any], engine: SqlEngine) -> dict[str, Any]:
    engine.drop()
    engine.create(table_of(entry))
    reply = engine.execute(entry["answer_info"]["sql"])
    assert reply.error is None, reply.error
    if entry["answer_info"]["direct"] is None:
        return {"direct": None, "md5": engine.state_hash()}
    rows = [[float(cell) if isinstance(cell, Decimal) else cell for cell in row] for row in reply.rows]
    return {"direct": rows, "md5": None}


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    engine = SqliteEngine()
    yield engine
    engine.close()


def test_every_skill_has_its_tasks() -> None:
    counts = Counter(skill for entry in shipped().values() for skill in entry["skill_list"])
    assert len(shipped()) >= 66
    assert set(counts) == set(SKILLS)
    assert min(counts.values()) >= 3
    assert all(1 <= len(entry["skill_list"]) <= 5 for entry in shipped().values())


def test_entries_have_the_published_schema() -> None:
    assert list(shipped()) == [str(i) for i in range(len(shipped()))]
    for entry in shipped().values():
        assert set(entry) == {"instruction", "answer_info", "table_info", "skill_list"}
        assert set(entry["answer_info"]) == {"direct", "md5", "sql"}
        assert (entry["answer_info"]["direct"] is None) != (entry["answer_info"]["md5"] is None)
        table = table_of(entry)
        assert 20 <= len(table.rows) <= 50
        assert 4 <= len(table.columns) <= 7
        kinds = {"INT": int, "TEXT": str}
        for row in table.rows:
            assert [type(cell) for cell in row] == [kinds[column.type] for column in table.columns]


def test_tasks_differ() -> None:
    entries = shipped().values()
    assert len({entry["answer_info"]["sql"] for entry in entries}) == len(entries)
    assert len({entry["instruction"] for entry in entries}) == len(entries)
    assert len({entry["table_info"]["name"] for entry in entries}) >= 20
    assert len({entry["instruction"].split()[0] for entry in entries}) >= 10


@pytest.mark.parametrize("index", shipped())
def test_task_executes_to_its_stored_answer(index: str, engine: SqlEngine) -> None:
    entry = shipped()[index]
    stored = {key: entry["answer_info"][key] for key in ("direct", "md5")}
    assert result_of(entry, engine) == stored
    assert label_skills(entry["answer_info"]["sql"]) == set(entry["skill_list"])


@pytest.mark.parametrize("index", shipped())
def test_change_differs_from_doing_nothing(index: str, engine: SqlEngine) -> None:
    entry = shipped()[index]
    engine.drop()
    engine.create(table_of(entry))
    assert engine.state_hash() != entry["answer_info"]["md5"]


@pytest.mark.parametrize("index", shipped())
def test_instruction_names_what_the_statement_needs(index: str) -> None:
    entry = shipped()[index]
    sql, words = entry["answer_info"]["sql"], entry["instruction"]
    assert entry["table_info"]["name"] in words
    for literal in re.findall(r"'([^']*)'", sql):
        assert literal.strip("%").rstrip("-") in words
    outside = re.sub(r"'[^']*'", "", sql)
    if entry["answer_info"]["sql"].startswith("INSERT"):
        outside = re.sub(r"^INSERT INTO \w+ \([^)]*\) SELECT .*? FROM", "", outside)
    for column in entry["table_info"]["column_info_list"]:
        if re.search(rf"\b{column['name']}\b", outside):
            assert column["name"] in words or column["name"].replace("_", " ") in words
    for alias in re.findall(r" AS (\w+)", sql.split(" FROM ")[0]):
        assert alias in words
    for number in re.findall(r"LIMIT (\d+)(?:(?:,| OFFSET) (\d+))?", sql):
        said = {"1": "row"}
        assert all(said.get(digits, digits) in words for digits in number)


def test_several_rows_are_sorted_by_the_statement() -> None:
    for entry in shipped().values():
        rows = entry["answer_info"]["direct"]
        assert rows is None or len(rows) == 1 or " ORDER BY " in entry["answer_info"]["sql"]


def test_the_shipped_file_is_reproduced_byte_for_byte(tmp_path: Path) -> None:
    main(["--seed", "0", "--out", str(tmp_path / "tasks.json")])
    assert (tmp_path / "tasks.json").read_bytes() == shipped_text().encode()


def test_a_real_server_agrees_with_every_answer(mariadb: SqlEngine) -> None:
    disagreeing = {}
    for index, entry in shipped().items():
        stored = {key: entry["answer_info"][key] for key in ("direct", "md5")}
        found = result_of(entry, mariadb)
        if found != stored:
            disagreeing[index] = (entry["answer_info"]["sql"], stored, found)
    print(f"mariadb agrees on {len(shipped()) - len(disagreeing)}/{len(shipped())}")
    assert not disagreeing
