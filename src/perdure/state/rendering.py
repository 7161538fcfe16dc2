"""What a tool returned, as a text that a model can read. Whatever it is, there is one; nothing is raised."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from io import IOBase
from typing import Any

from perdure.core.well_formed import spelled_out

_MOST = 200_000
"""Characters of a rendering. A longer one ends there, so that a result without an end has one."""
_DEEPEST = 40
_LISTS = (list, tuple, set, frozenset, deque, range, Iterator)
_BYTES = (bytes, bytearray, memoryview)
_LONGEST_NUMBER = 4_000
"""Bits of a whole number that is written out; Python refuses to write very long ones."""
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,}")


def readable(result: Any) -> str:
    """A text as it is, bytes that are a text as that text, anything else as JSON or much like it.

    What has no JSON form is shown as Python shows it, without addresses; sets are in order. What contains
    itself, what is too large and what cannot be read are named as such. The text is well-formed Unicode.
    """
    try:
        if isinstance(result, str):
            return spelled_out(str.__str__(result))
        if isinstance(result, _BYTES):
            return _bytes_text(result)
        plain = _plain(result)
        if isinstance(plain, str):
            return spelled_out(str.__str__(plain))
        if not _has_json(plain):
            return spelled_out(_shown(plain))
        return spelled_out("".join(_up_to(_MOST, _parts(result, ()))))
    except Exception as error:  # noqa: BLE001 - the result's own code may raise anything
        return f"<a {type(result).__name__} that cannot be shown: {type(error).__name__}>"


def _up_to(most: int, parts: Iterator[str]) -> Iterator[str]:
    try:
        for part in parts:
            if len(part) > most:
                yield f"{part[:most]} … (the rest is left out)"
                return
            yield part
            most -= len(part)
    except Exception as error:  # noqa: BLE001 - the result's own code may raise anything
        yield f" … (the rest cannot be read: {type(error).__name__})"


def _parts(value: Any, above: tuple[int, ...]) -> Iterator[str]:
    """The rendering bit by bit, so that no more of a result is read than is shown."""
    plain = _plain(value)
    if not isinstance(plain, (Mapping, *_LISTS)) or isinstance(plain, IOBase):
        yield _leaf(plain)
    elif id(value) in above:
        yield json.dumps(f"<this {type(value).__name__} again: it contains itself>")
    elif len(above) >= _DEEPEST:
        yield json.dumps(f"<a {type(value).__name__}: too deep to be shown>")
    elif isinstance(plain, Mapping):
        yield from _object_parts(plain, (*above, id(value)))
    else:
        yield from _list_parts(plain, (*above, id(value)))


def _object_parts(value: Mapping[Any, Any], above: tuple[int, ...]) -> Iterator[str]:
    yield "{"
    for number, (key, item) in enumerate(value.items()):
        text = _leaf(_plain(key))
        yield ("," if number else "") + (text if text.startswith('"') else json.dumps(text)) + ":"
        yield from _parts(item, above)
    yield "}"


def _list_parts(value: Any, above: tuple[int, ...]) -> Iterator[str]:
    yield "["
    if isinstance(value, set | frozenset):  # their order differs from process to process
        yield ",".join(sorted("".join(_parts(item, above)) for item in value))
    else:
        for number, item in enumerate(value):
            yield "," if number else ""
            yield from _parts(item, above)
    yield "]"


def _has_json(value: Any) -> bool:
    return value is None or (
        isinstance(value, (int, float, Mapping, *_LISTS)) and not isinstance(value, IOBase)
    )


def _plain(value: Any) -> Any:
    """Models and dataclasses as objects, dates and the like as texts; the unknown as it is."""
    if _has_json(value) or isinstance(value, (str, IOBase, *_BYTES)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    from pydantic_core import to_jsonable_python

    try:
        return to_jsonable_python(value)
    except Exception:  # noqa: BLE001 - the result's own code may raise anything
        return value


def _leaf(value: Any) -> str:
    """One value as JSON."""
    if isinstance(value, str):
        return json.dumps(str.__str__(value), ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        bits = int.bit_length(value)
        too_long = f"<a whole number of {bits} bits>"
        return int.__repr__(value) if bits <= _LONGEST_NUMBER else json.dumps(too_long)
    if isinstance(value, float):
        return json.dumps(float(value))
    return json.dumps(_bytes_text(value) if isinstance(value, _BYTES) else _shown(value), ensure_ascii=False)


def _bytes_text(value: bytes | bytearray | memoryview) -> str:
    data = bytes(value)
    try:
        text = data.decode()
        if all(character.isprintable() or character in "\n\r\t" for character in text):
            return text
    except UnicodeDecodeError:
        pass
    more = len(data) - _MOST
    return repr(data[:_MOST]) + (f" … and {more} more bytes" if more > 0 else "")


def _shown(value: Any) -> str:
    """As Python shows it; an object that shows only where it lies, as it prints."""
    try:
        text = repr(value) if "__repr__" in _own_names(type(value)) else str(value)
    except Exception as error:  # noqa: BLE001 - the result's own code may raise anything
        return f"<a {type(value).__name__} that cannot be shown: {type(error).__name__}>"
    return _ADDRESS.sub("", text)


def _own_names(kind: type) -> set[str]:
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}
