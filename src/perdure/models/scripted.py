"""A model whose replies are given: the test double of every agent, strategy and callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Annotated, TypeAlias

from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import Outcome
from perdure.core.parameters import FromFile
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import TokenCount, Usage
from perdure.models.parameter_checks import check_at_least
from perdure.models.token_estimate import estimate_messages, estimate_text

Given: TypeAlias = str | Completion | ModelError
"""A text gets an estimated usage; a completion or an error is handed out as it is."""

ReplyFunction: TypeAlias = Callable[[Request], Given]
Replies: TypeAlias = Annotated[Sequence[Given] | ReplyFunction, FromFile]


class ScriptedModel:
    """Answers from a list, in the order of the calls, or from a function of the request.

    `replies`: a list of replies, or a function `Request -> reply`; a configuration names its place,
    `"file.py:function"`.
    `cycle`: start a list again at its end. Without it, a call past the end gets a `ModelError` that says so.
    `max_concurrency`: how many tasks may be played at once by a function that depends on its request alone.

    A list is consumed by the instance: a run that is resumed in a new process starts it again, so use a
    function where a run must survive a crash. Replies are handed out whole, whatever the sampling says.
    Raises ConfigError for a list that holds anything but replies, or an empty list that should cycle.
    """

    honours_sampling = False

    def __init__(self, replies: Replies, *, cycle: bool = False, max_concurrency: int = 1) -> None:
        check_at_least("max_concurrency", max_concurrency, 1)
        self.max_concurrency = max_concurrency
        self._function: ReplyFunction | None = None
        self._replies: tuple[Given, ...] = ()
        if callable(replies):
            self._function = replies
        elif isinstance(replies, str) or not isinstance(replies, Sequence):
            raise ConfigError(f"replies: a list or 'file.py:function', got {replies!r}")
        else:
            self._replies = _checked(replies)
            if cycle and not self._replies:
                raise ConfigError("a scripted model cannot cycle through an empty list of replies")
        self.pure = self._function is not None
        self._cycle = cycle
        self._asked = 0
        self._lock = Lock()

    @property
    def calls(self) -> int:
        """Requests answered so far."""
        return self._asked

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """The next reply for each request, in order."""
        for position, request in enumerate(requests):
            yield position, self._answer(request)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """An estimate."""
        return estimate_messages(messages)

    def _answer(self, request: Request) -> Outcome:
        with self._lock:
            position = self._asked
            self._asked += 1
        reply = self._function(request) if self._function is not None else self._listed(position)
        if isinstance(reply, str):
            usage = Usage(self.count_tokens(request.messages).tokens, estimate_text(reply))
            return Completion(reply, usage=usage)
        return reply

    def _listed(self, position: int) -> Given:
        if self._cycle:
            return self._replies[position % len(self._replies)]
        if position < len(self._replies):
            return self._replies[position]
        # The number of the call stays out: sessions that end for the same reason are counted together.
        return ModelError(f"the script is used up: it has {len(self._replies)} replies")


def _checked(replies: Sequence[Given]) -> tuple[Given, ...]:
    for position, reply in enumerate(replies):
        if not isinstance(reply, str | Completion | ModelError):
            raise ConfigError(f"replies[{position}]: a text, got {reply!r}")
    return tuple(replies)


MODEL = ScriptedModel
