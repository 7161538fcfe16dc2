"""Reads a submitted answer: Python literals of rows, by a scanner of its own that runs nothing.

Not `ast.literal_eval`: deep nesting and megabytes of text must cost linear time and never crash.
"""

from __future__ import annotations

import re
from ast import literal_eval
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from perdure.environments.database.engine import Row, Value

MAX_ANSWER = 1_000_000
"""Longest answer in characters that is read."""
_MAX_DEPTH = 4

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<mark>[\[\](),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS: dict[str, Value] = {"none": None, "null": None, "true": True, "false": False}


class Unreadable(ValueError):
    """The text is not a literal of rows."""


class _Scanner:
    """Tokens of an answer, with one of lookahead."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> None:
        """Read the next token; `kind` is empty at the end. Raises Unreadable."""
        if self._at >= len(self._text):
            self.kind = self.token = ""
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            raise Unreadable(self._text[self._at : self._at + 40])
        self._at = found.end()
        self.kind, self.token = found.lastgroup, found.group(found.lastgroup)

    def expect(self, mark: str) -> None:
        """Step over a mark. Raises Unreadable when another token stands there."""
        if self.token != mark or self.kind != "mark":
            raise Unreadable(self.token)
        self.advance()


def read_answer(text: str, width: int) -> list[Row]:
    """The rows of an answer whose right answer has `width` columns. Raises Unreadable.

    Accepted: `[(1, 'a'), (2, 'b')]` with either kind of bracket, rows without the outer bracket, one row, and
    for a single column plain values. Decimal(…), date, datetime and timedelta literals, NULL and None.
    """
    if len(text) > MAX_ANSWER:
        raise Unreadable("too long")
    scanner = _Scanner(text)
    items = _sequence(scanner, "", 0)
    if len(items) == 1 and isinstance(items[0], list) and _is_outer(items[0], text):
        items = items[0]
    if all(isinstance(item, list) for item in items):
        return [_row(item) for item in items]
    if any(isinstance(item, list) for item in items):
        raise Unreadable("rows beside values")
    values = _row(items)
    return [(value,) for value in values] if width == 1 else [values]


def _is_outer(items: list[object], text: str) -> bool:
    """A bracket around rows, rather than a row itself."""
    return not items or text.lstrip()[:1] == "[" or isinstance(items[0], list)


def _row(items: object) -> Row:
    if not isinstance(items, list) or any(isinstance(item, list) for item in items):
        raise Unreadable("nested rows")
    return tuple(items)


def _sequence(scanner: _Scanner, closing: str, depth: int) -> list[object]:
    if depth > _MAX_DEPTH:
        raise Unreadable("nested too deeply")
    items: list[object] = []
    while not (scanner.kind == ("mark" if closing else "") and scanner.token == closing):
        items.append(_item(scanner, depth))
        if scanner.kind == "mark" and scanner.token == ",":
            scanner.advance()
        elif scanner.token != closing:
            raise Unreadable(scanner.token or "end")
    if closing:
        scanner.advance()
    return items


def _item(scanner: _Scanner, depth: int) -> object:
    kind, token = scanner.kind, scanner.token
    scanner.advance()
    if kind == "text":
        return _text(token)
    if kind == "number":
        return _number(token)
    if kind == "mark" and token in "[(":
        return _sequence(scanner, "]" if token == "[" else ")", depth + 1)
    if kind == "name" and token.lower() in _CONSTANTS:
        return _CONSTANTS[token.lower()]
    if kind == "name" and scanner.token == "(":
        scanner.advance()
        return _made(token, _sequence(scanner, ")", depth + 1))
    raise Unreadable(token)


def _text(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        value = literal_eval(token.replace("\n", "\\n").replace("\0", "\\0"))
    except (SyntaxError, ValueError):
        raise Unreadable(token[:40]) from None
    return str(value)


def _number(token: str) -> int | float | Decimal:
    if token.lstrip("+-").isdigit():
        return int(token) if len(token) < 400 else Decimal(token)
    return float(token)


def _made(name: str, arguments: list[object]) -> Value:
    whole = [a for a in arguments if isinstance(a, int) and not isinstance(a, bool)]
    try:
        if name.endswith("Decimal") and len(arguments) == 1 and isinstance(arguments[0], str | int | float):
            return Decimal(str(arguments[0]))
        if len(whole) == len(arguments) and name.endswith("datetime"):
            return datetime(*whole)  # type: ignore[arg-type]
        if len(whole) == len(arguments) and name.endswith("date"):
            return date(*whole)
        if len(whole) == len(arguments) and name.endswith("timedelta"):
            return timedelta(*whole)
    except (InvalidOperation, ValueError, TypeError, OverflowError):
        raise Unreadable(name) from None
    raise Unreadable(name)
