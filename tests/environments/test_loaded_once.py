"""What instances share is loaded once, by its contents, and freed with its last holder."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from perdure.environments.database import DatabaseEnvironment
from perdure.environments.knowledge_graph import KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.world import SHIPPED_TASKS
from perdure.environments.loaded_once import Loaded, LoadedOnce


class Thing:
    pass


def test_one_load_however_many_threads_ask() -> None:
    shelf: LoadedOnce[Thing] = LoadedOnce()
    together = Barrier(8)
    loads: list[Thing] = []

    def load() -> Thing:
        loads.append(Thing())
        return loads[-1]

    def get(_: int) -> Loaded[Thing]:
        together.wait()
        return shelf.get("key", load)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(get, range(8)))
    assert len(loads) == len({id(item.value) for item in found}) == 1
    assert shelf.get("other", load).value is not found[0].value


def test_it_is_freed_with_its_last_holder() -> None:
    shelf: LoadedOnce[Thing] = LoadedOnce()
    holders = [shelf.get("key", Thing) for _ in range(2)]
    seen = weakref.ref(holders[0].value)
    holders.pop()
    gc.collect()
    assert seen() is not None
    holders.clear()
    gc.collect()
    assert seen() is None
    assert isinstance(shelf.get("key", Thing).value, Thing)


def test_a_failed_load_is_tried_again() -> None:
    shelf: LoadedOnce[Thing] = LoadedOnce()

    def fail() -> Thing:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        shelf.get("key", fail)
    assert isinstance(shelf.get("key", Thing).value, Thing)


def test_instances_of_a_database_share_their_tasks_until_the_file_changes(tmp_path: Path) -> None:
    one, other = DatabaseEnvironment(), DatabaseEnvironment()
    assert one._tasks is other._tasks
    shipped = Path(__file__).parents[2] / "src/perdure/environments/database/data/tasks.json"
    content = json.loads(shipped.read_text("utf-8"))
    few = tmp_path / "tasks.json"
    few.write_text(json.dumps(dict(list(content.items())[:2])))
    before = DatabaseEnvironment(tasks=few)
    few.write_text(json.dumps(dict(list(content.items())[:3])))
    after = DatabaseEnvironment(tasks=few)
    assert (len(before.task_ids()), len(after.task_ids())) == (2, 3)


def test_instances_of_a_knowledge_graph_share_graph_and_files(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    one, other = KnowledgeGraphEnvironment(), KnowledgeGraphEnvironment()
    assert one._tasks is other._tasks
    assert one._ontology is other._ontology
    assert one._store._loaded is other._store._loaded  # type: ignore[attr-defined]
    one.release()
    assert list(other._store.predicates()), "releasing one leaves the others theirs"
    copy = tmp_path / "tasks.json"
    shutil.copy(SHIPPED_TASKS, copy)
    assert KnowledgeGraphEnvironment(tasks=copy)._tasks is not other._tasks
