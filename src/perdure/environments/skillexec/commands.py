"""Finds the command of a reply: a bare command, or the last `Action:` line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

LONGEST_COMMAND = 200

_LABEL = "Action:"
_DRESSING = " \t`*."

A = TypeVar("A")


def find_command(reply: str, parse: Callable[[str], A | None], forms: Iterable[str]) -> A | str:
    """The action that `parse` makes of a reply's command, or one line that says why there is none.

    `forms` show how each action is written, its verb first; the line quotes nothing but them. Linear time.
    """
    if len(reply) <= LONGEST_COMMAND and "\n" not in (bare := reply.strip()) and ":" not in bare:
        action = parse(bare)
        if action is not None:
            return action
    line = _last_action_line(reply)
    if line is None:
        return f"no action found, end with a line such as `{_LABEL} {next(iter(forms))}`"
    command = line[len(_LABEL) :].strip(_DRESSING) if len(line) <= LONGEST_COMMAND else ""
    parsed = parse(command)
    return parsed if parsed is not None else f"not a command, {_remedy(command, list(forms))}"


def is_exact(reply: str, command: str) -> bool:
    """Whether a reply writes its command as it is asked for: letter case, spaces and marks included."""
    return command == reply.strip() or _last_action_line(reply) == f"{_LABEL} {command}"


def _last_action_line(reply: str) -> str | None:
    lines = (line.strip() for line in reversed(reply.splitlines()))
    return next((line for line in lines if line[: len(_LABEL)].lower() == _LABEL.lower()), None)


def _remedy(command: str, forms: list[str]) -> str:
    """The form of the verb that was meant, or all forms."""
    verb = command.partition(" ")[0].lower()
    meant = [form for form in forms if form.partition(" ")[0].lower() == verb]
    *others, last = [f"`{form}`" for form in meant or forms]
    return f"its form is {last}" if meant else f"the forms are {', '.join(others)} and {last}"
