"""LifelongAgentBench's task sets, as its data set on Hugging Face or its code's `entry_dict.json` has them.

The data set `csyq/LifelongAgentBench` has a folder each for `db_bench`, `os_interaction` and
`knowledge_graph` with `train-*.parquet` in it: 500, 500 and 396 rows. Structures are texts there that hold
Python literals; they are read with `ast.literal_eval` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.types import JSON, Task
from perdure.environments.database.tasks import read_task as read_database_task
from perdure.environments.knowledge_graph.tasks import read_task as read_graph_task
from perdure.environments.operating_system.tasks import read_task as read_os_task
from perdure.pipelines.importers.folder import ImportedSet
from perdure.pipelines.importers.rows import Row, data_files, read_rows, structure


@dataclass(frozen=True)
class _Kind:
    """One of the three sets: what tells its rows from others, its columns of structures, its size."""

    environment: str
    columns: frozenset[str]
    structures: tuple[str, ...]
    published: int
    read: Callable[[str, Any], Task]


_SKILLS = "skill_list"
_KINDS = {
    "db_bench": _Kind(
        "database",
        frozenset({"instruction", "answer_info", "table_info"}),
        ("answer_info", "table_info", _SKILLS),
        500,
        read_database_task,
    ),
    "os_interaction": _Kind(
        "operating_system",
        frozenset({"instruction", "initialization_command_item", "evaluation_info"}),
        ("initialization_command_item", "evaluation_info", _SKILLS),
        500,
        read_os_task,
    ),
    "knowledge_graph": _Kind(
        "knowledge_graph",
        frozenset({"question", "entity_dict", "action_list", "answer_list"}),
        ("entity_dict", "action_list", "answer_list", _SKILLS),
        396,
        read_graph_task,
    ),
}
_INSIDE = ("answer_info", "table_info", "evaluation_info")
"""Columns whose members may be such texts too; a script is none, though it may look like one."""


def read_sets(path: Path) -> dict[str, ImportedSet]:
    """The sets of a file or folder, by published name. Raises ConfigError: file, row, problem in one line."""
    entries: dict[str, dict[str, JSON]] = {}
    places: dict[tuple[str, str], Row] = {}
    for file in data_files(path):
        for row in read_rows(file):
            name = _kind_of(row)
            if name is None:
                if path.is_file() or row.number > 1:
                    raise row.fault(f"is no task of LifelongAgentBench: its columns are {_columns(row)}")
                break  # another file of the folder, as its description
            id_ = _task_id(row)
            if (earlier := places.setdefault((name, id_), row)) is not row:
                raise row.fault(f"task {id_!r} is also in {earlier.path}, row {earlier.number}")
            entries.setdefault(name, {})[id_] = _entry(_KINDS[name], id_, row)
    if not entries:
        raise ConfigError(f"{path}: holds no task of LifelongAgentBench ({', '.join(_KINDS)})")
    return {
        name: ImportedSet(kind.environment, entries[name], kind.published)
        for name, kind in _KINDS.items()
        if name in entries
    }


def _kind_of(row: Row) -> str | None:
    return next((name for name, kind in _KINDS.items() if kind.columns <= row.values.keys()), None)


def _columns(row: Row) -> str:
    return ", ".join(map(str, row.values)) or "none"


def _task_id(row: Row) -> str:
    if row.key is not None:
        return row.key
    index = row.values.get("sample_index")
    return str(row.number - 1 if index is None else index)


def _entry(kind: _Kind, id_: str, row: Row) -> dict[str, JSON]:
    """The row as the environment reads it, and proved so."""
    entry = dict(row.values)
    for column in kind.structures:
        try:
            value = structure(entry[column]) if entry.get(column) is not None else []
            entry[column] = _members(value) if column in _INSIDE else _present(value)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
            raise row.fault(f"{column} is no Python literal: {error}") from error
    try:
        kind.read(id_, entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise row.fault(f"missing key {error}" if isinstance(error, KeyError) else str(error)) from error
    return entry


def _members(value: Any) -> Any:
    """A structure whose members may be written as literals once more."""
    if not isinstance(value, Mapping):
        return value
    return {name: structure(each) if _is_literal(each) else each for name, each in value.items()}


def _is_literal(value: object) -> bool:
    return isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")


def _present(value: Any) -> Any:
    """Without the nulls that a column of structures has for the keys of other rows."""
    if isinstance(value, Mapping):
        return {name: each for name, each in value.items() if each is not None}
    return value
