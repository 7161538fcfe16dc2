"""`perdure data import`: task files from published ones, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from perdure.environments.database.tasks import load_tasks as database_tasks
from perdure.environments.knowledge_graph.tasks import load_tasks as graph_tasks
from perdure.environments.operating_system.tasks import load_tasks as os_tasks
from tests.cli.conftest import Perdure
from tests.pipelines.importers.test_lifelongagentbench import DATABASE, GRAPH, SYSTEM, literal, parquet


def test_the_published_folder_becomes_three_task_files(folder: Path, perdure: Perdure) -> None:
    source = folder / "LifelongAgentBench"
    parquet(source / "db_bench" / "train-00000-of-00002.parquet", literal(DATABASE))
    parquet(source / "db_bench" / "train-00001-of-00002.parquet", literal(DATABASE | {"sample_index": 8}))
    parquet(source / "os_interaction" / "train-00000-of-00001.parquet", literal(SYSTEM))
    parquet(source / "knowledge_graph" / "train-00000-of-00001.parquet", literal(GRAPH))
    (source / "dataset_infos.json").write_text('{"default": {"splits": {}}}')
    out = folder / "tasks"
    result = perdure("data", "import", "lifelongagentbench", source, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    facts = {
        fact["set"]: (fact["environment"], fact["tasks"], fact["published"])
        for fact in json.loads(result.stdout)
    }
    assert facts == {
        "db_bench": ("database", 2, 500),
        "os_interaction": ("operating_system", 1, 500),
        "knowledge_graph": ("knowledge_graph", 1, 396),
    }
    tasks = database_tasks(out / "db_bench.json").tasks
    assert list(tasks) == ["7", "8"]
    assert tasks["7"].answer == (("[2]",),)
    assert tasks["7"].table.rows == (("[2]", 4), ("b", 9))
    assert os_tasks(out / "os_interaction.json").tasks["0"].initialization.text == "[ -d /srv ]"
    assert graph_tasks(out / "knowledge_graph.json")["3"].entities == {"dalen": "m.0x1"}
    assert not list(folder.glob(".tasks-*"))


def test_a_folder_that_holds_something_is_not_written_to(folder: Path, perdure: Perdure) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("x")
    source = folder / "rows.json"
    source.write_text(json.dumps([DATABASE]))
    result = perdure("data", "import", "lifelongagentbench", source, "--out", folder / "out")
    assert (result.exit_code, "is not an empty folder" in result.stderr) == (2, True)
    assert (folder / "out" / "mine").read_text() == "x"


def test_a_bad_row_leaves_nothing_behind(folder: Path, perdure: Perdure) -> None:
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in (DATABASE, DATABASE)))
    before = sorted(folder.iterdir())
    result = perdure("data", "import", "lifelongagentbench", source, "--out", folder / "out")
    assert (result.exit_code, "row 2: task '7' is also in" in result.stderr) == (2, True)
    assert sorted(folder.iterdir()) == before
