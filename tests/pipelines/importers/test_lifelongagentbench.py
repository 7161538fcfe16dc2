"""The published files of LifelongAgentBench become task files that its environments play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perdure.core.errors import ConfigError
from perdure.environments.database.tasks import load_tasks as database_tasks
from perdure.environments.knowledge_graph.tasks import load_tasks as graph_tasks
from perdure.environments.operating_system.tasks import load_tasks as os_tasks
from perdure.pipelines.importers.lifelongagentbench import read_sets
from perdure.pipelines.importers.sources import reader_of

DATA = Path(__file__).parents[4] / "shared" / "data" / "lifelongagentbench"

DATABASE = {
    "sample_index": 7,
    "instruction": "How many are cheap?",
    "answer_info": {"direct": [["[2]"]], "md5": None, "sql": "SELECT name FROM stock WHERE price < 5"},
    "table_info": {
        "name": "stock",
        "column_info_list": [{"name": "name", "type": "TEXT"}, {"name": "price", "type": "INT"}],
        "row_list": [["[2]", 4], ["b", 9]],
    },
    "skill_list": ["select"],
}
SYSTEM = {
    "sample_index": 0,
    "instruction": "Make /srv/a.",
    "initialization_command_item": {"command_name": "bash", "script": "[ -d /srv ]"},
    "evaluation_info": {
        "evaluation_command_item": {"command_name": "bash", "script": "[ -e /srv/a ]"},
        "ground_truth_command_item": {"command_name": "bash", "script": "touch /srv/a"},
    },
    "skill_list": ["touch"],
}
GRAPH = {
    "sample_index": 3,
    "question": "which rivers cross dalen?",
    "entity_dict": {"dalen": "m.0x1"},
    "s_expression": "(JOIN (R geo.town.river) m.0x1)",
    "action_list": ["get_relations(m.0x1)", "get_neighbors(m.0x1,geo.town.river)"],
    "answer_list": ["m.0y2"],
    "skill_list": ["get_neighbors"],
}


def literal(entry: dict[str, Any]) -> dict[str, Any]:
    """As the published parquet files write it: each structure a text."""
    return {key: str(value) if isinstance(value, list | dict) else value for key, value in entry.items()}


def parquet(path: Path, *entries: dict[str, Any]) -> Path:
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(entries)), path)
    return path


def test_columns_of_structures_lose_the_keys_of_other_rows(tmp_path: Path) -> None:
    """Arrow gives every row of such a column the keys of all of them, with nulls."""
    other = GRAPH | {"sample_index": 4, "entity_dict": {"mere": "m.0x2"}}
    entries = read_sets(parquet(tmp_path / "train.parquet", GRAPH, other))["knowledge_graph"].entries
    assert [entry["entity_dict"] for entry in entries.values()] == [{"dalen": "m.0x1"}, {"mere": "m.0x2"}]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            DATABASE | {"table_info": "__import__('os').system('true')"},
            r"row 2: table_info is no Python literal",
        ),
        (DATABASE | {"answer_info": {"sql": "x"}}, "row 2: answer_info must hold either direct or md5"),
        (DATABASE | {"sample_index": 1}, "row 2: task '1' is also in .*row 1"),
        (DATABASE | {"table_info": "(" * 3000}, "row 2: table_info is no Python literal"),
        ({"question": "?"}, "row 2: is no task of LifelongAgentBench: its columns are question"),
        (SYSTEM | {"evaluation_info": {}}, "row 2: missing key 'evaluation_command_item'"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, entry: dict[str, Any], problem: str) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in (DATABASE | {"sample_index": 1}, entry)))
    with pytest.raises(ConfigError, match=problem):
        read_sets(source)


def test_what_is_no_source_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    for path, problem in (
        (tmp_path / "absent", "there is no such file or folder"),
        (tmp_path / "a.txt", "not one of .parquet, .json, .jsonl"),
        (tmp_path / "broken.parquet", "not parquet"),
    ):
        with pytest.raises(ConfigError, match=problem):
            read_sets(path)
    with pytest.raises(ConfigError, match="there is no 'taubench'; valid: lifelongagentbench"):
        reader_of("taubench")


@pytest.mark.parametrize("load", [database_tasks, os_tasks, graph_tasks])
def test_a_parquet_or_csv_given_as_task_file_says_so(tmp_path: Path, load: Any) -> None:
    for name, form in (
        ("t.parquet", "is parquet, not JSON: perdure data import"),
        ("t.csv", "is CSV, not JSON"),
    ):
        (tmp_path / name).write_text("a,b\n")
        with pytest.raises(ConfigError, match=form):
            load(tmp_path / name)
    renamed = parquet(tmp_path / "x.parquet", GRAPH).rename(tmp_path / "tasks.json")
    with pytest.raises(ConfigError, match="is parquet"):
        load(renamed)


def test_the_published_parts_at_hand_are_read_alike_in_every_form(tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip(f"the published task files are not beside the project ({DATA})")
    counts = {}
    for name in ("db_bench", "os_interaction", "knowledge_graph"):
        published = json.loads((DATA / f"{name}.json").read_text())
        as_json = read_sets(DATA / f"{name}.json")[name].entries
        as_parquet = read_sets(parquet(tmp_path / f"{name}.parquet", *map(literal, published.values())))[
            name
        ].entries
        assert as_json == as_parquet
        counts[name] = len(as_json)
    assert counts == {"db_bench": 250, "os_interaction": 250, "knowledge_graph": 186}
