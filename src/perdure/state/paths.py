"""Paths into a state: tuples of keys, written as JSON Pointers (RFC 6901): keys may hold dots and slashes.

Items of a list are addressed by the value of their `id`, never by position.
"""

from __future__ import annotations

from typing import TypeAlias

from perdure.core.types import JSON

Path: TypeAlias = tuple[str, ...]

ID = "id"
"""The key that names an item of a list of objects."""


def pointer(path: Path) -> str:
    """`("inventory", "a/b")` → `/inventory/a~1b`; the whole state is the empty string."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


def parse_pointer(text: str) -> Path:
    """The inverse of `pointer`. Raises ValueError unless the text is empty or starts with a slash."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError(f"a path starts with a slash, such as '/{text}'")
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in text[1:].split("/"))


def parse_path(value: JSON) -> Path:
    """A path as a model writes it: a JSON Pointer or a list of keys. Raises ValueError."""
    if isinstance(value, str):
        return parse_pointer(value)
    if isinstance(value, list) and all(isinstance(key, str | int) and key is not True for key in value):
        return tuple(str(key) for key in value)
    raise ValueError("a path is a text such as '/orders/17' or a list of keys")


def item_ids(items: JSON) -> dict[str, int] | None:
    """Id → position, for a non-empty list whose items are objects with different ids; else None."""
    if not isinstance(items, list) or not items:
        return None
    ids: dict[str, int] = {}
    for position, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get(ID), str | int):
            return None
        ids[str(item[ID])] = position
    return ids if len(ids) == len(items) else None


def lookup(state: JSON, path: Path) -> JSON:
    """The value at a path. Raises KeyError when nothing is there."""
    value = state
    for key in path:
        if isinstance(value, dict):
            value = value[key]
        else:
            positions = item_ids(value)
            if positions is None:
                raise KeyError(key)
            value = value[positions[key]]
    return value


def overlap(one: Path, other: Path) -> bool:
    """One lies in the other, or they are the same."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
