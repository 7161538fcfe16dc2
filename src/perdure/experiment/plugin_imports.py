"""What a plug-in file imports from its own folder, and how such an import is made to stay private."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path
from site import getsitepackages, getusersitepackages
from types import CodeType


class PluginImports:
    """Import statements of the files of one folder, whose private package has a name."""

    def __init__(self, folder: Path, package: str) -> None:
        self._folder = folder
        self._package = package

    def compile(self, source: bytes, path: Path) -> CodeType:
        """A file's code; what it imports by bare name from its folder comes from the private package."""
        tree = _Private(self._package, self._is_sibling).visit(ast.parse(source, str(path)))
        return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)

    def named(self, source: bytes, file: str) -> tuple[set[str], set[str]]:
        """Files of the folder that a file's import statements name, and bare names that nothing stands for.

        They are found by reading, so that a fresh process and a long-lived one agree.
        """
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return set(), set()
        inside = file.split("/")[:-1]
        found, others = set(), set()
        for name, level in _imported(tree):
            if level:
                above = len(inside) - level + 1
                found |= self._beside(".".join([*inside[:above], name])) if above >= 0 else set()
            elif self._is_sibling(name.partition(".")[0]):
                found |= self._beside(name)
            elif not _is_elsewhere(name.partition(".")[0]):
                others.add(name.partition(".")[0])
        return found, others

    def files_of(self, name: str) -> set[str]:
        """The files that a dotted name stands for, packages on the way included; empty for none."""
        parts = name.split(".")
        places = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return {file for file in map(self.file_at, places) if file is not None}

    def file_at(self, place: str) -> str | None:
        """The file of a module, whose path in the folder is given without its ending."""
        for ending in ("/__init__.py", *EXTENSION_SUFFIXES, ".py"):
            if (self._folder / f"{place}{ending}").is_file():
                return f"{place}{ending}"
        return None

    def _beside(self, name: str) -> set[str]:
        """Files of a name; one that is no file, asked of the folder itself, stands in its `__init__.py`."""
        found = self.files_of(name)
        if not found and "." not in name and (self._folder / "__init__.py").is_file():
            return {"__init__.py"}
        return found

    def _is_sibling(self, root: str) -> bool:
        if _is_elsewhere(root):
            return False
        return self.file_at(root) is not None or any((self._folder / root).glob("*.py"))


class _Private(ast.NodeTransformer):
    """`import helper` becomes `import <package>.helper as helper`."""

    def __init__(self, package: str, is_sibling: Callable[[str], bool]) -> None:
        self._package = package
        self._is_sibling = is_sibling

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [ast.copy_location(made, node) for alias in node.names for made in self._imports(alias)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.level or node.module is None or not self._is_sibling(node.module.partition(".")[0]):
            return node
        private = ast.ImportFrom(f"{self._package}.{node.module}", node.names, 0)
        return ast.copy_location(private, node)

    def _imports(self, alias: ast.alias) -> Iterator[ast.Import]:
        root = alias.name.partition(".")[0]
        if not self._is_sibling(root):
            yield ast.Import([alias])
            return
        yield ast.Import([ast.alias(f"{self._package}.{alias.name}", alias.asname or root)])
        if alias.asname is None and root != alias.name:  # `import a.b` loads a.b and binds a
            yield ast.Import([ast.alias(f"{self._package}.{root}", root)])


def _imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every dotted name that an import statement may stand for, with its number of leading dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module, node.level
            prefix = f"{node.module}." if node.module else ""
            yield from ((f"{prefix}{alias.name}", node.level) for alias in node.names)


@cache
def _is_elsewhere(root: str) -> bool:
    """Whether a name belongs to the standard library, to perdure, or to an installed package."""
    if root in sys.stdlib_module_names or root == "perdure":
        return True
    spec = PathFinder.find_spec(root, [*getsitepackages(), getusersitepackages()])
    return spec is not None and spec.origin is not None
