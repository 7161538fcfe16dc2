"""The action grammar: the last line `Action: add N | read | done` of a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DO_NOTHING = "Action: done"

LARGEST_STEP = 9


@dataclass(frozen=True)
class CounterAction:
    """A parsed action; `amount` is used by `add` alone."""

    verb: Literal["add", "read", "done"]
    amount: int = 0

    def __str__(self) -> str:
        return f"add {self.amount}" if self.verb == "add" else self.verb


def parse_action(reply: str) -> CounterAction | str:
    """The action of a reply, or one line that says why there is none. Linear time."""
    lines = [line.strip() for line in reply.splitlines()]
    commands = [line[len("action:") :].split() for line in lines if line.lower().startswith("action:")]
    if not commands:
        return "No action found: write a line such as `Action: read`."
    match commands[-1]:
        case ["read"]:
            return CounterAction("read")
        case ["done"]:
            return CounterAction("done")
        case ["add", amount] if _is_step(amount):
            return CounterAction("add", int(amount))
        case ["add", *_]:
            return f"`add` takes one integer from -{LARGEST_STEP} to {LARGEST_STEP}."
        case _:
            return "Unknown command: use `add N`, `read` or `done`."


def _is_step(text: str) -> bool:
    digits = text.removeprefix("-").removeprefix("+")
    return len(digits) == 1 and digits in "0123456789" and len(text) <= 2
