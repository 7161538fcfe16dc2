"""Rows of published files: parquet, JSON or JSON lines, each with the place that it came from."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.installation import add_extras

SUFFIXES = (".parquet", ".json", ".jsonl")


@dataclass(frozen=True)
class Row:
    """One row of a file; `number` counts from 1, `key` is its name where the file is an object of entries."""

    path: Path
    number: int
    values: Mapping[str, Any]
    key: str | None = None

    def fault(self, problem: str) -> ConfigError:
        """What is wrong with this row, in one line."""
        return ConfigError(f"{self.path}: row {self.number}: {' '.join(problem.split())[:300]}")


def data_files(path: Path) -> list[Path]:
    """The file, or every file below the folder that may hold rows, by name. Raises ConfigError."""
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise ConfigError(f"{path}: not one of {', '.join(SUFFIXES)}")
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path}: there is no such file or folder")
    found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
    if not found:
        raise ConfigError(f"{path}: holds no {', '.join(SUFFIXES)} file")
    return found


def read_rows(path: Path) -> Iterator[Row]:
    """Rows in the order of the file. Raises ConfigError that names the file and the row."""
    try:
        if path.suffix == ".parquet":
            yield from _parquet_rows(path)
        elif path.suffix == ".jsonl":
            yield from _line_rows(path)
        else:
            yield from _json_rows(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def structure(value: Any) -> Any:
    """A structure, or the one that a text writes as a Python literal; at every depth of it.

    Raises ValueError, SyntaxError, RecursionError or MemoryError for a text that is none.
    """
    if isinstance(value, str):
        value = ast.literal_eval(value)
    if isinstance(value, dict):
        return {str(name): _nested(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_nested(each) for each in value]
    return value


def _nested(value: Any) -> Any:
    return value if isinstance(value, str) else structure(value)


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError(f"{path}: reading parquet needs pyarrow: {add_extras('parquet')}") from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(path, number, values)
    except pyarrow.ArrowException as error:
        raise ConfigError(f"{path}: not parquet: {' '.join(str(error).split())[:200]}") from error


def _json_rows(path: Path) -> Iterator[Row]:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error
    entries = (
        content.items() if isinstance(content, dict) else ((None, entry) for entry in _listed(path, content))
    )
    for number, (key, entry) in enumerate(entries, 1):
        yield _row(path, number, entry, key)


def _listed(path: Path, content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ConfigError(f"{path}: must hold a list of entries or an object of entries by index")
    return content


def _line_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield _row(path, number, json.loads(line), None)
                except (ValueError, RecursionError) as error:
                    raise ConfigError(f"{path}: row {number}: not JSON: {error}") from error


def _row(path: Path, number: int, entry: Any, key: str | None) -> Row:
    if not isinstance(entry, dict):
        raise ConfigError(f"{path}: row {number}: must be an object, not {type(entry).__name__}")
    return Row(path, number, entry, key)
