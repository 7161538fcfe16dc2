"""How a summary of earlier turns is asked for, and how such a request is told from an ordinary prompt.

Strategies write the request; a model that is a program rather than a language model must recognise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.core.types import Message

_ROLE = """\
You keep the memory of an agent that works on a long task. Besides its instructions the agent sees only your \
summary and its latest turns: what the summary leaves out is lost to it."""

_ORDER = """\
Write the new summary, which takes the place of the old one. Keep every name, number and open matter that \
the agent may need later, drop what is over, and write plain prose without headings."""


@dataclass(frozen=True)
class Turn:
    """What the agent was shown, and its full reply."""

    observation: str
    reply: str


def summary_request(
    instructions: str, goal: str, summary: str, turns: Iterable[Turn], *, max_tokens: int | None = None
) -> tuple[Message, ...]:
    """The prompt that asks to work `turns`, oldest first, into a summary. What is constant stands first."""
    told = "\n\n".join(f"Observation:\n{turn.observation}\nReply:\n{turn.reply}" for turn in turns)
    ceiling = f" It may be {max_tokens} tokens long; what goes beyond is cut off." if max_tokens else ""
    parts = [
        f"The agent's goal:\n{goal}",
        f"Your summary so far:\n{summary or '(nothing yet)'}",
        f"Turns to work into it, oldest first:\n{told}",
        _ORDER + ceiling,
    ]
    return (
        Message("system", f"{_ROLE}\n\nThe agent's instructions:\n{instructions}"),
        Message("user", "\n\n".join(parts)),
    )


def asks_for_summary(messages: Sequence[Message]) -> bool:
    """Whether a prompt was written by `summary_request`."""
    return bool(messages) and messages[0].role == "system" and messages[0].text.startswith(_ROLE)
