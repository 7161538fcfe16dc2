"""Finds the command of a reply: a bare command, or the last `Action:` line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

LONGEST_COMMAND = 200

A = TypeVar("A")


def find_command(reply: str, parse: Callable[[str], A | None]) -> A | str:
    """The action that `parse` makes of a reply's command, or one line that says why there is none.

    Linear time; quotes nothing.
    """
    if len(reply) <= LONGEST_COMMAND and "\n" not in (bare := reply.strip()) and ":" not in bare:
        action = parse(bare)
        if action is not None:
            return action
    for line in reversed(reply.splitlines()):
        text = line.strip()
        if text[:7].lower() == "action:":
            command = text[7:].strip(" \t`*.") if len(text) <= LONGEST_COMMAND else ""
            parsed = parse(command)
            return parsed if parsed is not None else "not a command"
    return "no action found, write a line such as `Action: Wait`"
