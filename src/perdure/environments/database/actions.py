"""The grammar of replies (LifelongAgentBench, appendix B): an SQL operation, or the final answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.environments.database.prompts import (
    NO_ACTION,
    NO_FINAL_ANSWER,
    NO_SQL_BLOCK,
    SEVERAL_STATEMENTS,
)
from perdure.environments.database.sqlite.failure import SqlFailure
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.parse import parse_statement, split_statements

DO_NOTHING = "Action: Answer\nFinal Answer: []"
"""Commits an empty answer at once."""

_ACTION = re.compile(r"Action:[ \t]*(Operation|Answer)")
_PAPER_ACTION = re.compile(r"Action: (Operation|Answer)")
_FENCE = "```"
_OPENING = "```sql"


@dataclass(frozen=True)
class Operation:
    """Statements to run, in order; one, unless several are allowed."""

    statements: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The committed answer, one line."""

    text: str


@dataclass(frozen=True)
class Invalid:
    """No action; `kind` is one of the kinds that `prompts.REMEDIES` explains."""

    kind: Literal["no action", "no SQL block", "no final answer", "several statements"]


Action: TypeAlias = Operation | Answer | Invalid


def parse_action(reply: str, *, as_paper: bool = False) -> Action:
    """The first action of a reply. Linear time, never raises.

    SQL that cannot be split into statements is one statement: the engine says what is wrong with it.
    `as_paper` reads as the original does: one space after `Action:`, fences on lines of their own, the lines
    of a block are joined, an operation may hold several statements, or none where joining made all of it a
    comment, and the first final answer of the reply counts wherever it stands.
    """
    found = (_PAPER_ACTION if as_paper else _ACTION).search(reply)
    if found is None:
        return Invalid(NO_ACTION)
    if found.group(1) == "Answer":
        return _answer(reply, 1 if as_paper else found.end())
    sql = _first_block(reply, as_paper)
    if sql is None or not (as_paper or sql.strip()):
        return Invalid(NO_SQL_BLOCK)
    try:
        statements = split_statements(sql)
    except SqlFailure:
        statements = [sql.strip()]
    if not statements and not as_paper:
        return Invalid(NO_SQL_BLOCK)
    if len(statements) > 1 and not as_paper:
        return Invalid(SEVERAL_STATEMENTS)
    return Operation(tuple(statements))


def _first_block(reply: str, as_paper: bool) -> str | None:
    opening, fence = (f"{_OPENING}\n", f"\n{_FENCE}") if as_paper else (_OPENING, _FENCE)
    start = reply.find(opening)
    if start < 0:
        return None
    end = reply.find(fence, start + len(opening))
    if end < 0:
        return None
    block = reply[start + len(opening) : end]
    return block.strip().replace("\n", " ") if as_paper else block


def _answer(reply: str, start: int) -> Action:
    mark = "\nFinal Answer:"
    at = reply.find(mark, start - 1)
    if at < 0:
        return Invalid(NO_FINAL_ANSWER)
    line = reply[at + len(mark) :].partition("\n")[0]
    return Answer(line.strip())


def action_key(action: Operation | Answer) -> str:
    """One spelling for equal actions.

    Statements are compared as MySQL reads them (case of keywords, quotes, spaces and comments do not count);
    one that does not parse is compared as text without regard to spaces.
    """
    if isinstance(action, Operation):
        return "operation: " + "; ".join(map(_normal_sql, action.statements))
    return f"answer: {' '.join(action.text.split())}"


def _normal_sql(sql: str) -> str:
    try:
        return mysql_text(parse_statement(sql))
    except (SqlFailure, RecursionError):
        return " ".join(sql.split())
