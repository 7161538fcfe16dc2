"""Database tasks, and the files they come from: LifelongAgentBench's published schema."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.types import JSON, Task
from perdure.environments.database.agentbench import is_agentbench, published_entry
from perdure.environments.database.engine import Column, Row, Table
from perdure.environments.loaded_once import Loaded, LoadedOnce
from perdure.environments.task_forms import refuse_tables

SHIPPED = "the shipped tasks"
_SCALARS = (str, int, float, type(None))


@dataclass(frozen=True, kw_only=True)
class DatabaseTask(Task):
    """One question about a table, or one change of it, with its ground truth."""

    table: Table
    sql: str
    """A statement that solves the task."""
    answer: tuple[Row, ...] | None = None
    """Rows of the right answer; None for a change."""
    md5: str | None = None
    """Published hash of the table after a change; None for a question."""
    loose: bool = False
    """Texts of numbers are these numbers, in the answer and in its truth."""


@dataclass(frozen=True)
class TaskSet:
    """The tasks of a file, by id, in the order of the file."""

    tasks: Mapping[str, DatabaseTask]
    digest: str
    """12 hex digits over the file's bytes."""


_LOADED: LoadedOnce[TaskSet] = LoadedOnce()


def shared_tasks(path: Path | None = None) -> Loaded[TaskSet]:
    """As `load_tasks`, once a process for equal contents of a file."""
    where, raw = _read(path)
    return _LOADED.get((where, blake2b(raw).digest()), lambda: _parse_tasks(path, where, raw))


def load_tasks(path: Path | None = None) -> TaskSet:
    """Read a task file, or the shipped one. Raises ConfigError: one line with file, entry and problem."""
    return _parse_tasks(path, *_read(path))


def _read(path: Path | None) -> tuple[str, bytes]:
    where = str(path) if path is not None else SHIPPED
    try:
        if path is not None:
            raw = path.read_bytes()
            refuse_tables(path, raw)
        else:
            raw = files("perdure.environments.database").joinpath("data/tasks.json").read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror or error}") from error
    return where, raw


def _parse_tasks(path: Path | None, where: str, raw: bytes) -> TaskSet:
    try:
        content = _parse(raw, path)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error
    return TaskSet(_read_entries(content, where), blake2b(raw, digest_size=6).hexdigest())


def _parse(raw: bytes, path: Path | None) -> JSON:
    """A JSON document, or one a line. AgentBench's entries are brought into the published schema."""
    if path is None or path.suffix != ".jsonl":
        content: JSON = json.loads(raw)
        return content
    return [json.loads(line) for line in raw.decode("utf-8").splitlines() if line.strip()]


def _read_entries(content: JSON, where: str) -> dict[str, DatabaseTask]:
    if isinstance(content, list):
        content = {_entry_id(entry, i): entry for i, entry in enumerate(content)}
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{where}: must be a JSON object of entries by index, or a list of entries")
    tasks: dict[str, DatabaseTask] = {}
    for key, entry in content.items():
        try:
            tasks[key] = read_task(key, entry)
        except (KeyError, TypeError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
            problem = f"missing key {error}" if isinstance(error, KeyError) else str(error)
            raise ConfigError(f"{where}: entry {key!r}: {' '.join(problem.split())[:300]}") from error
    return tasks


def _entry_id(entry: JSON, position: int) -> str:
    if not isinstance(entry, dict):
        return str(position)
    index = entry.get("sample_index", entry.get("index", position))
    return str(index)


def read_task(id_: str, entry: JSON) -> DatabaseTask:
    """One published entry. Raises KeyError, TypeError, ValueError or SyntaxError saying what is wrong."""
    if not isinstance(entry, dict):
        raise TypeError(f"must be an object, not {type(entry).__name__}")
    if is_agentbench(entry):
        entry = published_entry(entry)
    answer_info, table_info = _literal(entry["answer_info"]), _literal(entry["table_info"])
    sql, instruction = answer_info["sql"], entry["instruction"]
    for name, text in (("instruction", instruction), ("answer_info.sql", sql)):
        if not isinstance(text, str) or not text.strip():
            raise TypeError(f"{name} must be a text that is not empty")
    direct, md5 = answer_info.get("direct"), answer_info.get("md5")
    if (direct is None) == (md5 is None):
        raise ValueError("answer_info must hold either direct or md5")
    if md5 is not None and not isinstance(md5, str):
        raise TypeError("answer_info.md5 must be a text")
    return DatabaseTask(
        id=id_,
        goal=instruction,
        skills=tuple(_literal(entry.get("skill_list") or [])),
        table=_table(table_info),
        sql=sql,
        answer=None if direct is None else _rows(_literal(direct), None, "answer_info.direct"),
        md5=md5,
        loose=bool(entry.get("loose_answer", False)),
    )


def _literal(value: Any) -> Any:
    """A structure, or its Python literal (the form of the published parquet files)."""
    if isinstance(value, str) and value[:1] in ("{", "[", "("):
        return literal_eval(value)
    return value


def _table(info: Mapping[str, Any]) -> Table:
    columns = tuple(Column(str(c["name"]), str(c["type"])) for c in _literal(info["column_info_list"]))
    if not columns:
        raise ValueError("table_info has no columns")
    names = [column.name.lower() for column in columns]
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name")
    return Table(
        str(info["name"]), columns, _rows(_literal(info["row_list"]), len(columns), "table_info.row_list")
    )


def _rows(rows: Any, width: int | None, where: str) -> tuple[Row, ...]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise TypeError(f"{where} must be a list of rows")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Sequence) or isinstance(row, str):
            raise TypeError(f"{where}: row {number} is not a list")
        if width is not None and len(row) != width:
            raise ValueError(f"{where}: row {number} has {len(row)} values for {width} columns")
        if not all(isinstance(cell, _SCALARS) for cell in row):
            raise TypeError(f"{where}: row {number} holds something other than text, numbers and null")
    return tuple(tuple(row) for row in rows)
