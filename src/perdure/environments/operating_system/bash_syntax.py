"""Bash scripts as the syntax nodes of bashlex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

EXECUTING_OPTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""After these options of `find` a command begins."""


class Unparsable(Exception):
    """A script that bashlex does not read, or bashlex is not installed."""


def syntax_nodes(script: str) -> list[Any]:
    """Every node of a script's syntax trees, parents first. Raises Unparsable."""
    try:
        import bashlex
        from bashlex.errors import ParsingError
    except ModuleNotFoundError:
        raise Unparsable("bashlex is not installed") from None
    try:
        trees = bashlex.parse(script) if script.strip() else []
    except (
        ParsingError,
        NotImplementedError,
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise Unparsable(str(error) or type(error).__name__) from error
    return [node for tree in trees for node in _walk(tree)]


def _walk(node: Any) -> Iterator[Any]:
    """A syntax node and everything below it."""
    yield node
    for value in vars(node).values():
        for child in value if isinstance(value, list) else [value]:
            if hasattr(child, "kind"):
                yield from _walk(child)
