"""Finds the one JSON object in a reply and reads it, forgivingly; every forgiveness is named.

All scans are linear: a reply of a million braces costs what a million words cost.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from perdure.core.types import JSON
from perdure.state.changes import same
from perdure.state.taxonomy import FailureClass, PatchRejected

ENVELOPE = ("state_patch", "action")
"""The two keys of an answer."""

REASONING = "reasoning"
"""A third one, before them, where thoughts stand inside; it is dropped on reading."""

_FENCE = re.compile(r"^[ \t]*+```([^\n`]*+)$", re.MULTILINE)
# The next brace outside strings, or nothing before the end of the text. Possessive: it never backtracks, and
# a match begins where the last one ended. A string ends at its quote or, broken, at the end of the line.
_NEXT_BRACE = re.compile(r'(?:[^"{}]++|"(?:[^"\\\n]++|\\[^\n])*+\\?"?)*+([{}]?)')
_FLAT = r'[^{]*+(\{(?:[^"{}]++|"(?:[^"\\\n]++|\\[^\n])*+\\?"?)*+\})'
_FLAT_OBJECT = re.compile(_FLAT)
# An atomic group, not `(?:…)++`: before Python 3.11.5 that ends where a repetition failed (gh-106052).
_FLAT_OBJECTS = re.compile(f"(?>(?:{_FLAT})+)")
_NEXT_BRACKET = re.compile(r'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+"?)*+([{}\[\]]?)', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)
_ENVELOPE_START = re.compile(r'\{\s*+"(?:state_patch|action|reasoning)"')

_CANDIDATES = 16
"""Objects of one reply that are tried, from the last on."""


@dataclass(frozen=True)
class Extracted:
    """The object of a reply, its text, and what had to be forgiven to read it."""

    value: dict[str, JSON]
    text: str
    tolerances: tuple[str, ...] = ()


def extract(reply: str, *, max_chars: int, max_depth: int) -> Extracted:
    """The object that a reply answers with: the last one that has a key of the envelope, else the last one.

    Tolerances: `no_fence`, `fence_without_json` (its language), `several_blocks`, `text_around_object`,
    `trailing_comma`, `raw_control_character`, `repeated_key` (with the same value). Raises PatchRejected:
    `syntax` where nothing can be read, `schema` where it is too large or too deep.
    """
    if len(reply) > max_chars:
        raise PatchRejected(
            FailureClass.SCHEMA, "size", f"The reply has {len(reply)} characters; {max_chars} are allowed."
        )
    first_error: PatchRejected | None = None
    plain: Extracted | None = None
    spans, unclosed = _balanced(reply)
    candidates = list(_candidates(reply, spans))
    for text, tolerances in candidates:
        try:
            value, forgiven = read_object(text, max_depth=max_depth)
        except PatchRejected as error:
            first_error = first_error or error
            continue
        found = Extracted(value, text, (*tolerances, *forgiven))
        if any(key in value for key in ENVELOPE):
            return found
        plain = plain or found
    # A broken object that meant to be the answer comes before an intact one that did not.
    if first_error is not None and (plain is None or ENVELOPE[0] in candidates[0][0]):
        raise first_error
    if plain is not None and not any(_ENVELOPE_START.match(reply, start) for start in unclosed):
        return plain
    problem = "is never closed" if unclosed else "is missing"
    raise PatchRejected(FailureClass.SYNTAX, "no_object", f"The JSON object of the answer {problem}.")


def answer_text(reply: str) -> str:
    """The part of a reply that was meant as the answer, without the reasoning; else the whole reply."""
    spans, unclosed = _balanced(reply)
    for start in unclosed:
        if _ENVELOPE_START.match(reply, start):
            return reply[start:]
    return next((text for text, _ in _candidates(reply, spans)), reply)


def read_object(text: str, *, max_depth: int) -> tuple[dict[str, JSON], list[str]]:
    """A text as one JSON object, and what was forgiven. Raises PatchRejected."""
    if _depth_exceeds(text, max_depth):
        raise PatchRejected(
            FailureClass.SCHEMA, "depth", f"The JSON is nested deeper than {max_depth} levels."
        )
    reader = _Reader()
    try:
        value = reader.read(text, strict=True)
    except json.JSONDecodeError as strict_error:
        mended = _STRING_OR_COMMA.sub(_without_comma, text)
        try:
            value = reader.read(mended, strict=False)
        except json.JSONDecodeError as error:
            raise _syntax("invalid_json", f"Invalid JSON: {error.msg} ({_place(error)}).") from error
        if mended != text:
            reader.tolerances.append("trailing_comma")
        if strict_error.msg.startswith("Invalid control character") or not _reads_strictly(mended):
            reader.tolerances.append("raw_control_character")
    if not isinstance(value, dict):
        raise _syntax("not_an_object", "The answer is one JSON object.")
    try:
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _syntax("lone_surrogate", r"A \u escape names half of a surrogate pair.") from None
    return value, reader.tolerances


def read_json(text: str, *, max_depth: int) -> JSON:
    """A whole text as JSON of any type, nothing forgiven. Raises PatchRejected."""
    if _depth_exceeds(text, max_depth):
        raise _syntax("depth", f"The JSON is nested deeper than {max_depth} levels.")
    reader = _Reader()
    try:
        value = reader.read(text, strict=True)
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _syntax("invalid_json", f"Invalid JSON: {error.msg} ({_place(error)}).") from error
    except UnicodeEncodeError:
        raise _syntax("lone_surrogate", r"A \u escape names half of a surrogate pair.") from None
    return value


class _Reader:
    """`json.loads` without what JSON does not have: NaN, different values under one key, endless integers."""

    def __init__(self) -> None:
        self.tolerances: list[str] = []

    def read(self, text: str, *, strict: bool) -> JSON:
        self.tolerances.clear()
        return json.loads(
            text,
            strict=strict,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
            object_pairs_hook=self._object,
        )

    def _object(self, pairs: Sequence[tuple[str, JSON]]) -> dict[str, JSON]:
        found: dict[str, JSON] = {}
        for key, value in pairs:
            if key in found:
                if not same(found[key], value):
                    raise _syntax("duplicate_key", f"The key {key!r} stands twice in one object.")
                self.tolerances.append("repeated_key")
            found[key] = value
        return found


def _candidates(reply: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts that may be the answer, likeliest first, with what taking them forgives."""
    whole = reply.strip()
    if whole.startswith("{") and whole.endswith("}"):
        yield whole, ()
    blocks = [(language, body) for language, body in _fences(reply) if body.startswith("{")]
    for language, body in reversed(blocks[-_CANDIDATES:]):
        tolerances = ("several_blocks",) if len(blocks) > 1 else ()
        if language != "json":
            tolerances = (*tolerances, "fence_without_json")
        if body.endswith("}"):
            yield body, tolerances
    for start, end in reversed(spans[-_CANDIDATES:]):
        forgiven = ["text_around_object" if blocks else "no_fence"]
        if len(spans) > 1:
            forgiven.append("several_blocks")
        yield reply[start:end], tuple(forgiven)


def _fences(reply: str) -> Iterator[tuple[str, str]]:
    """Language and content of every closed fence; a named fence inside an open one starts anew."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(reply):
        language = line[1].strip()
        if opened is None or language:
            opened = line
        else:
            yield opened[1].strip().lower(), reply[opened.end() : line.start()].strip()
            opened = None


def _balanced(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Spans of balanced braces that no other such span holds, and braces that are never closed.

    Quotes count only between braces. Of objects in a row that hold no other, only the last candidates.
    """
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    position = 0
    while True:
        # Half a million objects in a row would be half a million steps of the loop below.
        if flat := _FLAT_OBJECTS.match(text, position):
            latest = deque(_FLAT_OBJECT.finditer(text, position, flat.end()), maxlen=_CANDIDATES)
            spans += [match.span(1) for match in latest]
            position = flat.end()
        position = text.find("{", position)
        if position < 0:
            return spans, opened
        for match in _NEXT_BRACE.finditer(text, position):
            position = match.end()
            if match[1] == "{":
                opened.append(position - 1)
            elif match[1]:
                start = opened.pop()
                while spans and spans[-1][0] > start:
                    spans.pop()
                spans.append((start, position))
                if not opened:
                    break


def _depth_exceeds(text: str, limit: int) -> bool:
    if text.count("{") + text.count("[") <= limit:
        return False
    depth = 0
    for match in _NEXT_BRACKET.finditer(text):
        if match[1] in ("{", "["):
            depth += 1
            if depth > limit:
                return True
        elif match[1]:
            depth -= 1
    return False


def _without_comma(match: re.Match[str]) -> str:
    return "" if match[0] == "," else match[0]


def _reads_strictly(text: str) -> bool:
    try:
        json.loads(text, parse_int=str)
    except json.JSONDecodeError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise _syntax("not_a_number", f"{name} is not JSON; use a number or null.")


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise PatchRejected(
            FailureClass.SCHEMA, "size", f"A number of more than {_DIGITS} digits is refused."
        )
    return int(text)


_DIGITS = 300


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise PatchRejected(FailureClass.SCHEMA, "size", f"The number {text[:40]} is too large.")
    return number


def _syntax(code: str, message: str) -> PatchRejected:
    return PatchRejected(FailureClass.SYNTAX, code, message)


def _place(error: json.JSONDecodeError) -> str:
    around = error.doc[max(0, error.pos - 20) : error.pos + 20].strip()
    return f"line {error.lineno}, column {error.colno}, near {around!r}" if around else "at the end"
