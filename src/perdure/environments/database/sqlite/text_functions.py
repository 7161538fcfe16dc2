"""MySQL's text functions and its default collation over SQLite values. NULL in, NULL out."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache

from perdure.environments.database.sqlite.failure import SqlFailure, interrupted
from perdure.environments.database.sqlite.number_functions import number

Cell = int | float | str | bytes | None

MAX_TEXT = 1_000_000
"""Longest text that a function builds; beyond it the result is NULL, as with `max_allowed_packet`."""
MAX_REGEXP_WORK = 200_000_000
"""Bound on the steps that backtracking may take, before a match is refused."""
MAX_LIKE_WORK = 10_000_000
"""Bound on text length times pattern length."""

_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANKS = {ord(c): chr(0x21 + i) for i, c in enumerate(_PUNCTUATION)}
_RANKS |= {ord("0") + i: chr(0x60 + i) for i in range(10)}
_RANKS |= {ord("a") + i: chr(0x80 + i) for i in range(26)}


@lru_cache(maxsize=16_384)
def collation_key(text: str) -> str:
    """Equal for texts that utf8mb4_0900_ai_ci holds equal, ordered as it orders ASCII text."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return text.lower().translate(_RANKS)


def collate(left: str, right: str) -> int:
    """Compare as MySQL's default collation does."""
    if left == right:
        return 0
    a, b = collation_key(left), collation_key(right)
    return (a > b) - (a < b)


def _text(value: Cell) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _strict(function: Callable[..., Cell]) -> Callable[..., Cell]:
    """NULL when any argument is NULL; text arguments arrive as str."""

    def call(*arguments: Cell) -> Cell:
        if None in arguments:
            return None
        return function(*(_text(a) if isinstance(a, bytes) else a for a in arguments))

    return call


def _concat(*parts: Cell) -> str | None:
    return _bounded("".join(map(_text, parts)))


def _bounded(text: str) -> str | None:
    return text if len(text) <= MAX_TEXT else None


def _concat_ws(*parts: Cell) -> str | None:
    if parts[0] is None:
        return None
    return _bounded(_text(parts[0]).join(_text(part) for part in parts[1:] if part is not None))


def _whole(value: Cell) -> int:
    plain = number(value)
    return round(max(-1e15, min(1e15, plain))) if plain else 0


def _left(text: Cell, count: Cell) -> str:
    return _text(text)[: max(0, _whole(count))]


def _right(text: Cell, count: Cell) -> str:
    wanted = max(0, _whole(count))
    return _text(text)[-wanted:] if wanted else ""


def _substring(text: Cell, start: Cell, length: Cell = None) -> str:
    value, first = _text(text), _whole(start)
    if first == 0 or abs(first) > len(value):
        return ""
    begin = first - 1 if first > 0 else len(value) + first
    return value[begin:] if length is None else value[begin : begin + max(0, _whole(length))]


def _substring_index(text: Cell, delimiter: Cell, count: Cell) -> str:
    value, mark, wanted = _text(text), _text(delimiter), _whole(count)
    if not mark or not wanted:
        return ""
    pieces = value.split(mark)
    return mark.join(pieces[:wanted] if wanted > 0 else pieces[wanted:])


def _pad(text: Cell, length: Cell, fill: Cell, *, left: bool) -> str | None:
    value, wanted, mark = _text(text), _whole(length), _text(fill)
    if wanted < 0 or wanted > MAX_TEXT:
        return None
    if len(value) >= wanted:
        return value[:wanted]
    if not mark:
        return ""
    missing = wanted - len(value)
    padding = (mark * (missing // len(mark) + 1))[:missing]
    return padding + value if left else value + padding


def _trim(text: Cell, what: Cell, side: Cell) -> str:
    value, mark = _text(text), _text(what)
    if not mark:
        return value
    start, end = 0, len(value)
    while side in ("BOTH", "LEADING") and value.startswith(mark, start):
        start += len(mark)
    while side in ("BOTH", "TRAILING") and end - len(mark) >= start and value.endswith(mark, start, end):
        end -= len(mark)
    return value[start:end]


def _repeat(text: Cell, count: Cell) -> str | None:
    value, times = _text(text), max(0, _whole(count))
    return value * times if len(value) * times <= MAX_TEXT else None


def _replace(text: Cell, old: Cell, new: Cell) -> str | None:
    value, part, other = _text(text), _text(old), _text(new)
    if not part:
        return value
    growth = value.count(part) * max(0, len(other) - len(part))
    return value.replace(part, other) if len(value) + growth <= MAX_TEXT else None


def _locate(part: Cell, text: Cell, start: Cell = 1) -> int:
    first = _whole(start)
    return _text(text).lower().find(_text(part).lower(), first - 1) + 1 if first > 0 else 0


def _find_in_set(item: Cell, items: Cell) -> int:
    key = collation_key(_text(item))
    keys = [collation_key(piece) for piece in _text(items).split(",")]
    return keys.index(key) + 1 if key in keys else 0


def _insert(text: Cell, position: Cell, length: Cell, new: Cell) -> str:
    value, first, count = _text(text), _whole(position), _whole(length)
    if not 1 <= first <= len(value):
        return value
    rest = value[first - 1 + count :] if count >= 0 else ""
    return value[: first - 1] + _text(new) + rest


def _sha2(text: Cell, bits: Cell) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(_whole(bits))
    return hashlib.new(name, _text(text).encode()).hexdigest() if name else None


def _hex(value: Cell) -> str:
    if isinstance(value, int | float):
        return format(round(value) & (2**64 - 1), "X")
    return _text(value).encode().hex().upper()


def _unhex(value: Cell) -> str | None:
    try:
        return bytes.fromhex(_text(value)).decode("utf-8", "replace")
    except ValueError:
        return None


def like(text: Cell, pattern: Cell, escape: Cell = "\\") -> int | None:
    """LIKE under the default collation, in time proportional to text times pattern."""
    if text is None or pattern is None:
        return None
    if len(_text(text)) * len(_text(pattern)) > MAX_LIKE_WORK:
        raise interrupted()
    tokens = _like_tokens(_text(pattern), _text(escape or "\\"))
    return int(_wildcard_match(_text(text), tokens))


@lru_cache(maxsize=512)
def _like_tokens(pattern: str, escape: str) -> tuple[str, ...]:
    """One entry a pattern character: `%` and `_` stand for themselves, a literal for its collation key."""
    tokens: list[str] = []
    characters = iter(pattern)
    for c in characters:
        if c == escape:
            tokens.append("=" + collation_key(next(characters, escape)))
        elif c in "%_":
            tokens.append(c)
        else:
            tokens.append("=" + collation_key(c))
    return tuple(tokens)


def _wildcard_match(text: str, tokens: tuple[str, ...]) -> bool:
    at = position = 0
    star, resume = -1, 0
    while at < len(text):
        token = tokens[position] if position < len(tokens) else ""
        if token == "%":
            star, resume = position, at
            position += 1
        elif token == "_" or (token and token[1:] == collation_key(text[at])):
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = resume, star + 1
        else:
            return False
    return all(token == "%" for token in tokens[position:])


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str], int, int]:
    """A case-insensitive pattern, how many repeats it has and how many options. Raises SqlFailure."""
    bare = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)
    repeats = len(re.findall(r"[*+]|\{\d*,\d*\}", bare))
    options = bare.count("?")
    if re.search(r"\([^()]*(?:[*+?|]|\{\d*,)[^()]*\)(?:[*+]|\{\d)|\)\)+(?:[*+]|\{\d)", bare):
        repeats = 99  # a choice inside a repeat can take exponential time
    try:
        return re.compile(pattern, re.IGNORECASE), repeats, options
    except (re.error, RecursionError, OverflowError):
        raise SqlFailure(3685, "HY000", "Illegal argument to a regular expression.") from None


def _checked(text: str, pattern: str) -> re.Pattern[str]:
    if len(pattern) > 1000:
        raise SqlFailure(3685, "HY000", "Illegal argument to a regular expression.")
    compiled, repeats, options = _compiled(pattern)
    steps = max(2, len(text)) ** (1 + min(repeats, 40)) * 2 ** min(options, 60)
    if repeats + options and steps > MAX_REGEXP_WORK:
        raise SqlFailure(3699, "HY000", "Timeout exceeded in regular expression match.")
    return compiled


def _regexp(text: Cell, pattern: Cell) -> int:
    return int(_checked(_text(text), _text(pattern)).search(_text(text)) is not None)


def _regexp_replace(text: Cell, pattern: Cell, new: Cell) -> str | None:
    plain = _text(new)
    return _bounded(_checked(_text(text), _text(pattern)).sub(lambda _: plain, _text(text)))


def _regexp_substr(text: Cell, pattern: Cell) -> str | None:
    found = _checked(_text(text), _text(pattern)).search(_text(text))
    return found.group() if found else None


_PLAIN: Mapping[str, Callable[..., Cell]] = {
    "my_key": lambda t: collation_key(_text(t)),
    "my_concat": _concat,
    "my_length": lambda t: len(_text(t).encode()),
    "my_upper": lambda t: _text(t).upper(),
    "my_lower": lambda t: _text(t).lower(),
    "my_left": _left,
    "my_right": _right,
    "my_substring": _substring,
    "my_substring_index": _substring_index,
    "my_ltrim": lambda t: _text(t).lstrip(" "),
    "my_rtrim": lambda t: _text(t).rstrip(" "),
    "my_trim": _trim,
    "my_replace": _replace,
    "my_reverse": lambda t: _text(t)[::-1],
    "my_repeat": _repeat,
    "my_space": lambda n: _repeat(" ", _whole(n)),
    "my_lpad": lambda t, n, f: _pad(t, n, f, left=True),
    "my_rpad": lambda t, n, f: _pad(t, n, f, left=False),
    "my_instr": lambda t, part: _locate(part, t),
    "my_locate": _locate,
    "my_ascii": lambda t: _text(t).encode()[0] if _text(t) else 0,
    "my_find_in_set": _find_in_set,
    "my_strcmp": lambda a, b: collate(_text(a), _text(b)),
    "my_insert": _insert,
    "my_md5": lambda t: hashlib.md5(_text(t).encode()).hexdigest(),
    "my_sha1": lambda t: hashlib.sha1(_text(t).encode()).hexdigest(),
    "my_sha2": _sha2,
    "my_crc32": lambda t: zlib.crc32(_text(t).encode()),
    "my_hex": _hex,
    "my_unhex": _unhex,
    "my_regexp": _regexp,
    "my_regexp_replace": _regexp_replace,
    "my_regexp_substr": _regexp_substr,
}
TEXT_FUNCTIONS: Mapping[str, Callable[..., Cell]] = {
    "my_concat_ws": _concat_ws,
    "my_like": like,
    "my_load_file": lambda path: None,
    "my_tuple": lambda *parts: None if None in parts else repr(parts),
    **{name: _strict(function) for name, function in _PLAIN.items()},
}
