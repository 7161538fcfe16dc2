from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perdure.core.errors import ConfigError
from perdure.environments.database.skills import SKILLS
from perdure.environments.database.tasks import load_tasks

ENTRY: dict[str, Any] = {
    "instruction": "Raise every price under 5 by 1.",
    "answer_info": {
        "direct": None,
        "md5": "0" * 32,
        "sql": "UPDATE shelf SET price = price + 1 WHERE price < 5;",
    },
    "table_info": {
        "name": "shelf",
        "column_info_list": [{"name": "id", "type": "INT"}, {"name": "price", "type": "INT"}],
        "row_list": [[1, 4], [2, 9]],
    },
    "skill_list": ["update", "where_single_condition"],
}


def changed(**changes: Any) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(json.dumps(ENTRY))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = entry
        for parent in parents:
            place = place[parent]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return entry


def write(folder: Path, content: object) -> Path:
    path = folder / "tasks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_shipped_tasks_cover_every_skill_three_times() -> None:
    tasks = load_tasks().tasks
    assert len(tasks) >= 66
    counts = {skill: sum(skill in task.skills for task in tasks.values()) for skill in SKILLS}
    assert min(counts.values()) >= 3
    assert all(task.skills for task in tasks.values())


def test_an_entry_becomes_a_frozen_task(tmp_path: Path) -> None:
    loaded = load_tasks(write(tmp_path, {"17": ENTRY}))
    task = loaded.tasks["17"]
    assert task.id == "17"
    assert task.goal == ENTRY["instruction"]
    assert task.skills == ("update", "where_single_condition")
    assert task.table.rows == ((1, 4), (2, 9))
    assert task.answer is None
    with pytest.raises(AttributeError):
        task.sql = "SELECT 1"  # type: ignore[misc]


def test_structures_may_be_python_literals_as_in_the_published_parquet(tmp_path: Path) -> None:
    written = {key: value if isinstance(value, str) else repr(value) for key, value in ENTRY.items()}
    plain, literal = load_tasks(write(tmp_path, {"0": ENTRY})), load_tasks(write(tmp_path, {"0": written}))
    assert plain.tasks == literal.tasks
    assert plain.digest != literal.digest


def test_a_list_of_entries_is_numbered(tmp_path: Path) -> None:
    loaded = load_tasks(write(tmp_path, [ENTRY, {**ENTRY, "sample_index": 9}]))
    assert list(loaded.tasks) == ["0", "9"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("not json", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ([], "must be a JSON object of entries"),
        (3, "must be a JSON object of entries"),
        ({"4": 3}, "entry '4': must be an object"),
        ({"4": changed(instruction=...)}, "entry '4': missing key 'instruction'"),
        ({"4": changed(instruction=" ")}, "entry '4': instruction must be a text that is not empty"),
        ({"4": changed(answer_info__sql=...)}, "entry '4': missing key 'sql'"),
        ({"4": changed(answer_info__md5=None)}, "entry '4': answer_info must hold either direct or md5"),
        ({"4": changed(answer_info__direct=[[1]])}, "entry '4': answer_info must hold either direct or md5"),
        ({"4": changed(answer_info__md5=5)}, "entry '4': answer_info.md5 must be a text"),
        (
            {"4": changed(table_info__row_list=[[1]])},
            "entry '4': table_info.row_list: row 1 has 1 values for 2",
        ),
        (
            {"4": changed(table_info__row_list=[[1, {}]])},
            "entry '4': table_info.row_list: row 1 holds something",
        ),
        ({"4": changed(table_info__row_list="[1, os.x]")}, "entry '4': malformed node"),
        ({"4": changed(table_info__column_info_list=[])}, "entry '4': table_info has no columns"),
        (
            {
                "4": changed(
                    table_info__column_info_list=[{"name": "a", "type": "INT"}, {"name": "A", "type": "INT"}]
                )
            },
            "entry '4': two columns have the same name",
        ),
    ],
)
def test_a_bad_file_is_one_line_with_file_entry_and_problem(
    tmp_path: Path, content: object, problem: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        load_tasks(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.json: cannot be read: No such file"):
        load_tasks(tmp_path / "nothing.json")
