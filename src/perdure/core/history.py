"""Interaction histories and the factory that opens them (the paper's interaction-history item factory)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from perdure.core.session import check_alternation
from perdure.core.types import Message, Observation


class InteractionHistory(Sequence[Message]):
    """An immutable run of messages whose roles alternate user, agent, user, …"""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)
        check_alternation(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InteractionHistory):
            return NotImplemented
        return self._messages == other._messages

    def __hash__(self) -> int:
        return hash(self._messages)

    def __repr__(self) -> str:
        return f"InteractionHistory({len(self)} messages)"


def render_history(history: Iterable[Message], *, user: str = "user", agent: str = "agent") -> str:
    """A history as `role: text` lines, the form in which experience is shown to a model."""
    names = {"user": user, "agent": agent, "system": "system"}
    return "\n".join(f"{names[message.role]}: {message.text}" for message in history)


class HistoryFactory:
    """Makes the opening history of every task: its items, then the goal with the first observation.

    Items are messages that stand before the goal in every task (demonstrations, a fixed exchange). The
    factory is a declared member of the environment, so a callback may edit it with
    `environment.history_factory.set(…)`,
    in process or through chained remote calls.
    """

    def __init__(self, items: Iterable[Message] = ()) -> None:
        self._items = list(InteractionHistory(items))
        if len(self._items) % 2:
            raise ValueError("the items of a history factory must end with an agent message")

    def items(self) -> tuple[Message, ...]:
        """The messages before the goal, oldest first; always an even number."""
        return tuple(self._items)

    def set(self, index: int, message: Message) -> None:
        """Replace one item; its role must stay. Raises IndexError or ValueError."""
        if message.role != self._items[index].role:
            raise ValueError(f"item {index} has the role {self._items[index].role!r}, not {message.role!r}")
        self._items[index] = message

    def assign(self, messages: Iterable[Message]) -> None:
        """Replace all items, as `items` gave them. Raises ValueError unless they are user and agent pairs."""
        self._items = HistoryFactory(messages)._items

    def extend(self, messages: Iterable[Message]) -> None:
        """Append items, in user and agent pairs. Raises ValueError otherwise."""
        extended = InteractionHistory([*self._items, *messages])
        if len(extended) % 2:
            raise ValueError("the items of a history factory must end with an agent message")
        self._items = list(extended)

    def construct(self, goal: str, observation: Observation) -> InteractionHistory:
        """The opening history of one task: items, then one user message with g and O_0."""
        opening = goal if not observation.text else f"{goal}\n{observation.text}"
        return InteractionHistory([*self._items, Message("user", opening)])
