"""The action grammar: `Action: name(argument, …)` or `Final Answer: #n` in a reply.

    get_relations(x)            x: an entity or a variable
    get_neighbors(x, relation)
    intersection(#a, #b)
    get_attributes(#v)
    argmax(#v, attribute)   argmin(#v, attribute)
    count(#v)

A final answer wins over an action wherever it stands; of several actions the first counts
(LifelongAgentBench, section on the knowledge-graph environment). `Final Answer: none` gives up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

DO_NOTHING = "Final Answer: none"

ARITY = {
    "get_relations": 1,
    "get_neighbors": 2,
    "intersection": 2,
    "get_attributes": 1,
    "argmax": 2,
    "argmin": 2,
    "count": 1,
}
"""Every action and how many arguments it takes: also the seven skills."""

NO_ACTION = (
    "No action found. Write one line `Action: name(arguments)`, for example `Action: get_relations(#0)`, "
    "or `Final Answer:` and the variable that is your answer."
)

_FINAL = re.compile(r"Final [Aa]nswer:\s*(?:[Vv]ar(?:iable)?\s*)?#([0-9]+)")
_GIVE_UP = re.compile(r"Final [Aa]nswer:\s*[Nn]one\b")
_CALL = re.compile(r"Action:[ \t]*(\w++)\(", re.ASCII)
_PAPER_CALL = re.compile(r"Action: (\w++)\(", re.ASCII)
_VARIABLE = re.compile(r"(?:[Vv]ar(?:iable)?\s*)?#(-?[0-9]+)")
_DELIMITER = re.compile(r"[(),]")
_MOST_ARGUMENTS = 8
"""Arguments that are read; more are too many for any action."""
_LONGEST_INDEX = 9
"""Digits of a variable's number; more cannot name one."""


@dataclass(frozen=True)
class Call:
    """An action and its arguments as written, without surrounding blanks."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class FinalAnswer:
    """The variable that is the answer; None gives up."""

    variable: int | None


def parse_action(
    reply: str, entities: Iterable[str] = (), *, paper: bool = False
) -> Call | FinalAnswer | None:
    """The action of a reply, None where there is none. Linear time.

    `entities` are the names that may hold commas and parentheses of their own. `paper` keeps the original
    grammar: exactly one space after `Action:`, no empty argument list, no giving up.
    """
    final = _FINAL.search(reply)
    if final is not None:
        return FinalAnswer(variable_number(f"#{final[1]}"))
    if not paper and _GIVE_UP.search(reply):
        return FinalAnswer(None)
    names = sorted(entities, key=len, reverse=True)
    line_end = -1
    for match in (_PAPER_CALL if paper else _CALL).finditer(reply):
        start = match.end()
        if start <= line_end:
            continue
        newline = reply.find("\n", start)
        line_end = newline if newline >= 0 else len(reply)
        arguments = _arguments(reply, start, line_end, names)
        if arguments is not None and not (paper and arguments == ()):
            return Call(match[1], arguments)
    return None


def variable_number(argument: str) -> int | None:
    """n of `#n`, `var #n` or `variable #n`; None for anything else. A number beyond reason is a large one."""
    match = _VARIABLE.fullmatch(argument)
    if match is None:
        return None
    digits = match[1]
    return int(digits) if len(digits) <= _LONGEST_INDEX else 10**_LONGEST_INDEX


def action_key(parsed: Call | FinalAnswer) -> str | None:
    """One spelling for actions that do the same, None for one that no graph could carry out."""
    if isinstance(parsed, FinalAnswer):
        return DO_NOTHING if parsed.variable is None else f"Final Answer: #{parsed.variable}"
    if ARITY.get(parsed.name) != len(parsed.arguments):
        return None
    arguments = [_plain(argument) for argument in parsed.arguments]
    if parsed.name == "intersection":
        arguments.sort()
    return f"Action: {Call(parsed.name, tuple(arguments))}"


def _plain(argument: str) -> str:
    number = variable_number(argument)
    return argument if number is None else f"#{number}"


def _arguments(text: str, start: int, end: int, names: list[str]) -> tuple[str, ...] | None:
    """Up to the balanced parenthesis, or else to the first one; None without any on the line."""
    close = text.find(")", start, end)
    if close < 0:
        return None
    balanced = _balanced(text, start, end, names)
    if balanced is not None:
        return balanced
    return tuple(part.strip() for part in text[start:close].split(",", _MOST_ARGUMENTS))


def _balanced(text: str, start: int, end: int, names: list[str]) -> tuple[str, ...] | None:
    arguments: list[str] = []
    position = start
    while True:
        argument, position = _one_argument(text, position, end, names)
        if position >= end:
            return None
        arguments.append(argument)
        if text[position] == ")" or len(arguments) > _MOST_ARGUMENTS:
            return () if arguments == [""] else tuple(arguments)
        position += 1


def _one_argument(text: str, start: int, end: int, names: list[str]) -> tuple[str, int]:
    """The argument at `start` and where its delimiter stands; `end` where there is none."""
    start = _skip_blanks(text, start, end)
    for name in names:
        if name and text.startswith(name, start):
            after = _skip_blanks(text, start + len(name), end)
            if after < end and text[after] in ",)":
                return name, after
    depth = 0
    for match in _DELIMITER.finditer(text, start, end):
        sign = match[0]
        if depth == 0 and sign != "(":
            return text[start : match.start()].strip(), match.start()
        depth += {"(": 1, ")": -1, ",": 0}[sign]
    return text[start:end].strip(), end


def _skip_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start] in " \t":
        start += 1
    return start
