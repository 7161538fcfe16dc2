"""How far the embedded engine agrees with the recorded replies of a MySQL 8 server (InterCode SQL).

Run: python benchmarks/mysql_fidelity.py [number of pairs, default all] [--misses]
"""

from __future__ import annotations

import ast
import datetime
import math
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from json import loads
from pathlib import Path
from random import Random

from sqlglot import exp

from perdure.environments.database.engine import Row, SqlReply, Value
from perdure.environments.database.sqlite.engine import SqliteEngine
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.parse import parse_statement
from perdure.environments.database.sqlite.schema import Schema

DATA = Path(__file__).parents[2] / "shared" / "data" / "intercode" / "sql"
TARGET = 0.99
SAMPLE_SEED = 0
RECORDED_ROWS = (10, 25, 30)
"""Some of the recordings keep only so many rows of a longer result."""
_ERROR = "Error executing query: "
_NOT_THE_SERVER = ("No SQL code was found", "Format your SQL command")
"""Replies of the benchmark's own, for texts that it did not send to the server."""
_CHANGES = re.compile(
    r"\s*(?:ALTER|CREATE|DROP|INSERT|UPDATE|DELETE|REPLACE|TRUNCATE|RENAME|SET)\b", re.IGNORECASE
)
_DESCRIPTIONS = re.compile(r"\s*(?:DESC|DESCRIBE|SHOW)\b", re.IGNORECASE)
_CODES = {
    r"^Table '.*' doesn't exist": 1146,
    "^Unknown column": 1054,
    "^You have an error in your SQL": 1064,
    " is ambiguous$": 1052,
    "^Unknown database": 1049,
    "is not in SELECT list": 3065,
    "is not in GROUP BY clause": 1055,
    "^In aggregated query without GROUP BY": 1140,
    "^Invalid use of group function": 1111,
    "^This version of MySQL doesn't yet support": 1235,
    "more than 1 row$": 1242,
    "^Every derived table must": 1248,
    "^Reference '.*' not supported": 1247,
    "contains aggregate function and applies": 3029,
    "^Not unique table/alias": 1066,
    r"^FUNCTION \S+ does not exist": 1305,
    "^Operand should contain": 1241,
    "^Identifier name": 1059,
}
NAMES = {
    1146: "unknown table",
    1054: "unknown column",
    1064: "syntax",
    1052: "ambiguous column",
    1049: "unknown database",
    1055: "ONLY_FULL_GROUP_BY",
    1140: "ONLY_FULL_GROUP_BY without groups",
    1111: "invalid group function",
    1235: "LIMIT in IN-subquery",
}


@dataclass(frozen=True)
class Pair:
    """One statement and what the server said."""

    line: int
    database: str
    sql: str
    reply: str
    is_error: bool

    @property
    def code(self) -> int:
        """MySQL's code for the recorded message."""
        message = self.reply.removeprefix(_ERROR)
        found = [code for pattern, code in _CODES.items() if re.search(pattern, message)]
        if not found:
            raise ValueError(f"unknown message in line {self.line}: {message!r}")
        return found[0]


@dataclass
class Agreement:
    """Counts of agreement; a miss is a pair, our reply and the kind of disagreement."""

    errors: int = 0
    errors_found: int = 0
    successes: int = 0
    successes_found: int = 0
    results: int = 0
    results_equal: int = 0
    results_in_order: int = 0
    descriptions: int = 0
    descriptions_equal: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    codes_equal: Counter[int] = field(default_factory=Counter)
    messages_equal: int = 0
    misses: list[tuple[str, Pair, SqlReply]] = field(default_factory=list)


def read_pairs(folder: Path = DATA) -> list[Pair]:
    """Every pair that a server replied to, in the order of the file."""
    pairs = []
    with (folder / "mysql8_pairs.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            entry = loads(line)
            if not entry["observation"].startswith(_NOT_THE_SERVER):
                pairs.append(
                    Pair(number, entry["db"], entry["sql"], entry["observation"], bool(entry["is_error"]))
                )
    return pairs


def open_database(name: str, folder: Path = DATA) -> SqliteEngine:
    """A dump in an engine of its own, with names of tables folded as on the recorded server."""
    engine = SqliteEngine(timeout=10.0, schema=Schema(name.lower(), fold_names=True))
    for text in (folder / "dumps" / f"{name}.sql").read_text("utf-8").split(";\n"):
        statement = re.sub(r"(?m)^--.*$", "", text).strip()
        if statement.startswith(("CREATE TABLE", "INSERT INTO")):
            reply = engine.execute(statement)
            if reply.error is not None:
                raise ValueError(f"{name}: {reply.error}: {statement[:80]}")
    return engine


def measure(pairs: Sequence[Pair], folder: Path = DATA) -> Agreement:
    """Run every pair; a statement that changes something runs on a copy of its own."""
    agreement = Agreement()
    by_database: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_database[pair.database].append(pair)
    for name, own in by_database.items():
        engine = open_database(name, folder)
        for pair in own:
            if _CHANGES.match(pair.sql):
                copy = open_database(name, folder)
                reply = copy.execute(pair.sql)
                copy.close()
            else:
                reply = engine.execute(pair.sql)
            _count(agreement, pair, reply, engine)
        engine.close()
    return agreement


def _count(agreement: Agreement, pair: Pair, reply: SqlReply, engine: SqliteEngine) -> None:
    if pair.is_error:
        agreement.errors += 1
        agreement.codes[pair.code] += 1
        if reply.error is None:
            agreement.misses.append((f"error {pair.code} not found", pair, reply))
            return
        agreement.errors_found += 1
        agreement.messages_equal += reply.error.message == pair.reply.removeprefix(_ERROR)
        if reply.error.code == pair.code:
            agreement.codes_equal[pair.code] += 1
        else:
            agreement.misses.append((f"error {reply.error.code} for {pair.code}", pair, reply))
        return
    agreement.successes += 1
    if reply.error is not None:
        agreement.misses.append((f"error {reply.error.code} for a success", pair, reply))
        return
    agreement.successes_found += 1
    if not pair.reply.startswith("["):
        return
    expected = read_rows(pair.reply)
    equal = same_rows(reply.rows, expected) or may_differ(pair.sql, reply.rows, expected, engine)
    if _DESCRIPTIONS.match(pair.sql):
        agreement.descriptions += 1
        agreement.descriptions_equal += equal
    else:
        agreement.results += 1
        agreement.results_equal += equal
        agreement.results_in_order += all(map(_same_row, reply.rows, expected))
    if not equal:
        agreement.misses.append(("other rows", pair, reply))


def read_rows(text: str) -> list[Row]:
    """Rows as Python's `str` prints them: literals, `Decimal(…)` and `datetime.…(…)`."""
    tree = ast.parse(text, mode="eval").body
    rows = _value(tree)
    if not isinstance(rows, list):
        raise ValueError(f"no list of rows: {text[:80]!r}")
    return rows


_CALLS = {
    "Decimal": Decimal,
    "datetime.date": datetime.date,
    "datetime.datetime": datetime.datetime,
    "datetime.timedelta": datetime.timedelta,
}


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Call):
        arguments = [ast.literal_eval(argument) for argument in node.args]
        keywords = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        return _CALLS[ast.unparse(node.func)](*arguments, **keywords)
    return ast.literal_eval(node)


def same_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """The same rows in any order; numbers by value."""
    if len(ours) != len(theirs):
        return False
    return all(map(_same_row, sorted(ours, key=_sort_key), sorted(theirs, key=_sort_key)))


def may_differ(sql: str, ours: Sequence[Row], theirs: Sequence[Row], engine: SqliteEngine) -> bool:
    """Other rows, but as right: the recorder cut the result, or LIMIT cut among rows of equal rank.

    Each of theirs must be a row of the result without its LIMIT, with the sort keys of ours in its place.
    """
    if len(theirs) in RECORDED_ROWS and len(theirs) < len(ours):
        return _are_among(theirs, ours)
    if len(theirs) != len(ours):
        return False
    tree = parse_statement(sql)
    if not isinstance(tree, exp.Query) or tree.args.get("limit") is None:
        return False
    width = len(ours[0]) if ours else 0
    _select_sort_keys(tree)
    limited = engine.execute(mysql_text(tree)).rows
    for clause in ("limit", "offset"):
        tree.set(clause, None)
    everything = engine.execute(mysql_text(tree)).rows
    placed = [(*row, *keyed[width:]) for row, keyed in zip(theirs, limited, strict=True)]
    return _are_among(placed, everything)


def _select_sort_keys(tree: exp.Query) -> None:
    """Add what ORDER BY sorts by to the columns of a SELECT, where its rows stay the same."""
    order = tree.args.get("order")
    if order is None or not isinstance(tree, exp.Select) or tree.args.get("distinct") is not None:
        return
    aliases = {item.alias.lower(): item.this for item in tree.expressions if item.alias}
    for item in order.expressions:
        key = item.this
        if isinstance(key, exp.Literal):
            key = tree.expressions[int(key.name) - 1].unalias()
        elif isinstance(key, exp.Column) and not key.table:
            key = aliases.get(key.name.lower(), key)
        tree.append("expressions", key.copy())


def _are_among(rows: Sequence[Row], others: Sequence[Row]) -> bool:
    """Every row is one of the others, repeats counted."""
    left = Counter(_rounded(row) for row in others)
    left.subtract(_rounded(row) for row in rows)
    return min(left.values(), default=0) >= 0


def _rounded(row: Row) -> tuple[tuple[int, float, str], ...]:
    return tuple(_cell_key(cell) for cell in row)


def _sort_key(row: Row) -> list[tuple[int, float, str]]:
    return [_cell_key(cell) for cell in row]


def _cell_key(cell: Value) -> tuple[int, float, str]:
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if cell is None:
        return (0, 0.0, "")
    if isinstance(cell, int | float | Decimal):
        return (1, round(float(cell), 4), "")
    return (2, 0.0, str(cell))


def _same_row(ours: Row, theirs: Row) -> bool:
    return len(ours) == len(theirs) and all(map(_same_cell, ours, theirs))


def _same_cell(ours: Value, theirs: Value) -> bool:
    if isinstance(ours, int | float | Decimal) and isinstance(theirs, int | float | Decimal):
        return math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(theirs, bytes):  # one of the recording drivers gives the texts of SHOW as bytes
        theirs = theirs.decode()
    return ours == theirs


def figures(agreement: Agreement) -> Iterator[tuple[str, int, int]]:
    """What is measured: name, agreements, total."""
    yield "errors found", agreement.errors_found, agreement.errors
    yield "successes found", agreement.successes_found, agreement.successes
    yield "equal results of SELECT", agreement.results_equal, agreement.results
    yield "equal results of SHOW and DESCRIBE", agreement.descriptions_equal, agreement.descriptions
    yield "error codes", agreement.codes_equal.total(), agreement.codes.total()
    for code, total in agreement.codes.most_common():
        yield f"  {code} {NAMES.get(code, '')}".rstrip(), agreement.codes_equal[code], total


def main() -> None:
    arguments = [word for word in sys.argv[1:] if not word.startswith("-")]
    started = time.perf_counter()
    pairs = read_pairs()
    if arguments and int(arguments[0]) < len(pairs):
        pairs = Random(SAMPLE_SEED).sample(pairs, int(arguments[0]))
    agreement = measure(pairs)
    seconds = time.perf_counter() - started
    print(f"mysql fidelity: {len(pairs)} pairs in {seconds:.1f} s; target >= {TARGET:.0%} each")
    for name, right, total in figures(agreement):
        share = right / max(total, 1)
        print(f"{name}: {right}/{total} = {share:.4f}; ratio {share / TARGET:.4f}")
    print(
        f"for information: {agreement.results_in_order}/{agreement.results} results in the same order, "
        f"{agreement.messages_equal}/{agreement.errors} messages word for word"
    )
    kinds = Counter(kind for kind, _, _ in agreement.misses)
    print("; ".join(f"{kind}: {count}" for kind, count in kinds.most_common()))
    if "--misses" in sys.argv:
        for kind, pair, reply in sorted(agreement.misses, key=_by_kind):
            print(f"{kind} | line {pair.line} {pair.database} | {pair.sql!r}\n    {pair.reply[:200]!r}")
            print(f"    {str(reply.error) if reply.error else str(list(reply.rows))[:200]}")


def _by_kind(miss: tuple[str, Pair, SqlReply]) -> tuple[str, int]:
    return miss[0], miss[1].line


if __name__ == "__main__":
    main()
