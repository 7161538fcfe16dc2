"""Plays a strategy by hand, as the controller would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from perdure.core.agent import ContextStrategy, ContextView
from perdure.core.environment import Opening
from perdure.core.history import HistoryFactory
from perdure.core.model import Outcome
from perdure.core.pool import ModelHandle
from perdure.core.session import Rejected
from perdure.core.types import Completion, Message, Observation, Request
from perdure.core.usage import TokenCount

INSTRUCTIONS = "Press the buttons."
GOAL = "Open the gate."
FIRST = "All is dark."


class WordModel(ModelHandle):
    """Counts a word as a token, exactly, and four more a message; replies come from a function."""

    def __init__(self, reply: Callable[[Request], Outcome] | None = None) -> None:
        self._reply = reply or (lambda request: Completion("a summary"))
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Outcome]:
        self.requests += requests
        return [self._reply(request) for request in requests]

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return TokenCount(words(messages), exact=True)


def words(messages: Iterable[Message]) -> int:
    """Tokens of a prompt by WordModel's count."""
    return sum(len(message.text.split()) + 4 for message in messages)


def play(
    strategy: ContextStrategy,
    turns: Iterable[tuple[str, str]],
    *,
    accepted: bool = True,
    demonstrations: Sequence[Message] = (),
    rejected: Sequence[Rejected] = (),
) -> Iterator[list[Message]]:
    """The prompt before the first turn, and after each turn of (reply, observation)."""
    first = Observation(FIRST)
    history = tuple(HistoryFactory(demonstrations).construct(GOAL, first))
    strategy.start(Opening(GOAL, first, HistoryFactory(demonstrations).construct(GOAL, first)), INSTRUCTIONS)
    yield _prompt(strategy, history, rejected)
    for reply, text in turns:
        strategy.absorb(Completion(reply))
        strategy.observe(Observation(text, accepted=accepted))
        history = (*history, Message("agent", reply), Message("user", text))
        yield _prompt(strategy, history, rejected)


def _prompt(
    strategy: ContextStrategy, history: tuple[Message, ...], rejected: Sequence[Rejected]
) -> list[Message]:
    return list(strategy.render(ContextView(INSTRUCTIONS, GOAL, (), history, tuple(rejected))))


def numbered(count: int) -> list[tuple[str, str]]:
    """Turns that can be told apart."""
    return [(f"press-{i}", f"light-{i} is on") for i in range(1, count + 1)]


def text_of(prompt: Iterable[Message]) -> str:
    return "\n".join(message.text for message in prompt)
