"""Solved tasks of a run: which to keep, how to show them, what they cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from perdure.core.agent import ModelAgent
from perdure.core.callback import CallbackContext
from perdure.core.session import PastSession
from perdure.core.types import Message

Compat: TypeAlias = Literal["none", "paper"]

CHARS_PER_TOKEN = 4
"""For agents without a model that counts."""


class SessionNumbers:
    """Positions of sessions in the run, oldest first; with `limit`, only the newest of them."""

    def __init__(self, limit: int | None = None) -> None:
        self._numbers: deque[int] = deque(maxlen=limit)
        self.seen = 0
        """How many were ever added."""

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int) -> None:
        """Keep one more, and forget the oldest beyond the limit."""
        self._numbers.append(number)
        self.seen += 1

    def newest(self, count: int | None = None) -> list[int]:
        """The newest `count` (all by default), oldest first."""
        numbers = list(self._numbers)
        return numbers if count is None else numbers[max(0, len(numbers) - count) :]

    def restore(self, numbers: Iterable[int]) -> None:
        """Start from these."""
        self._numbers.clear()
        for number in numbers:
            self.add(number)


def show_session(past: PastSession, *, compat: Compat = "none") -> str:
    """A solved task as text: its opening, then every action and its observation.

    Actions stand as the environment got them, not as raw replies, so that what one strategy solved helps
    another. `compat = "paper"` heads it as the original does.
    """
    heading = "Question: " if compat == "paper" else "A task that was solved before:\n"
    lines = [heading + opening_of(past)]
    for interaction in past.interactions:
        lines.append(f"agent: {interaction.action}")
        if interaction.observation.text:
            lines.append(f"user: {interaction.observation.text}")
    return "\n".join(lines)


def opening_of(past: PastSession) -> str:
    """Goal and first observation, as the history opened; the goal alone where a callback rewrote that."""
    texts = (message.text for message in past.history if message.role == "user")
    return next((text for text in texts if text.startswith(past.goal)), past.goal)


def joined(shown: Sequence[str], *, compat: Compat = "none") -> list[str]:
    """Items of the experience channel: one a task, or all in one without a separator as the original does."""
    return ["\n" + "".join(shown)] if compat == "paper" and shown else list(shown)


def count_tokens(ctx: CallbackContext, text: str) -> int:
    """Size of a text for the agent's model; four characters a token where the agent has none."""
    if isinstance(ctx.agent, ModelAgent):
        return ctx.agent.model.count_tokens([Message("user", text)]).tokens
    return -(-len(text) // CHARS_PER_TOKEN)


def within_budget(sizes: Sequence[int], budget: int | None) -> int:
    """How many of the first items fit; items come in the order of their worth."""
    if budget is None:
        return len(sizes)
    for count, size in enumerate(sizes):
        budget -= size
        if budget < 0:
            return count
    return len(sizes)
