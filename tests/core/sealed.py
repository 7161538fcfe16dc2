"""Reads and changes files of sealed lines, so that the change is a fact and no damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perdure.core.types import JSON
from perdure.storage.files import seal, seal_lines, unseal, unseal_lines


def lines_of(path: Path) -> list[dict[str, JSON]]:
    """The lines of a file as objects; each must be sealed."""
    found = [unseal(line) for line in path.read_bytes().splitlines(keepends=True)]
    assert all(line is not None for line in found)
    return [line for line in found if line is not None]


def write_lines(path: Path, lines: list[dict[str, JSON]]) -> None:
    path.write_text("".join(seal(line) + "\n" for line in lines))


def edit(path: Path, change: Callable[[list[dict[str, JSON]]], None]) -> None:
    """Change the lines of a file in place."""
    lines = lines_of(path)
    change(lines)
    write_lines(path, lines)


def edit_config(path: Path, old: str, new: str) -> None:
    """Replace a text in a `config.toml`."""
    text = unseal_lines(path.read_bytes())
    assert text is not None
    assert old in text
    path.write_text(seal_lines(text.replace(old, new)))
