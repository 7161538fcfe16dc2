"""The code behind `file.py:Name`: the file, and what it imports from its own folder. It changes results."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from perdure.core.types import JSON
from perdure.experiment.registry import resolve_path


def source_digests(values: Iterable[JSON], base: Path) -> dict[str, str]:
    """Digests by file name of every Python file that these configuration values lead to.

    Files are found by reading, not by running them: a fresh process and a long-lived one agree.
    """
    files: dict[Path, str] = {}
    for value in values:
        path, colon, _ = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        if colon and path.endswith(".py") and resolve_path(path, base).is_file():
            _collect(resolve_path(path, base).resolve(), files)
    folders = {path.parent for path in files}
    return {path.name if len(folders) == 1 else str(path): digest for path, digest in sorted(files.items())}


def _collect(path: Path, files: dict[Path, str]) -> None:
    if path in files:
        return
    content = path.read_bytes()
    files[path] = sha256(content).hexdigest()[:16]
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for name in _imported(tree):
        parts = name.split(".")
        beside = path.parent.joinpath(*parts)
        for candidate in (beside.with_suffix(".py"), beside / "__init__.py"):
            if candidate.is_file():
                _collect(candidate, files)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
