"""A model whose replies are given: the test double of every agent, strategy and callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import Outcome
from perdure.core.python_file import load_python_file
from perdure.core.types import Completion, Message, Request, TokenCount, Usage
from perdure.models.token_estimate import estimate_messages, estimate_text

Reply: TypeAlias = str | Completion | ModelError
"""A text gets an estimated usage; a completion or an error is handed out as it is."""

ReplyFunction: TypeAlias = Callable[[Request], Reply]


class ScriptedModel:
    """Answers from a list, in the order of the calls, or from a function of the request.

    `replies`: a list of replies; a function `Request -> reply`; or, from a configuration file, the function's
    place as `"file.py:function"`, beside that file.
    `cycle`: start a list again at its end. Without it, a call past the end gets a `ModelError` that says so.

    A list is consumed by the instance: a run that is resumed in a new process starts it again, so use a
    function where a run must survive a crash. Replies are handed out whole, whatever the sampling says.
    Raises ConfigError for a function that cannot be loaded, a list that holds anything but replies, or an
    empty list that should cycle.
    """

    honours_sampling = False

    def __init__(self, replies: Sequence[Reply] | ReplyFunction | Path | str, *, cycle: bool = False) -> None:
        self._function: ReplyFunction | None = None
        self._replies: tuple[Reply, ...] = ()
        if isinstance(replies, str | Path):
            self._function = load_function(replies)
        elif callable(replies):
            self._function = replies
        elif not isinstance(replies, Sequence):
            raise ConfigError(f"replies: a list or 'file.py:function', got {replies!r}")
        else:
            self._replies = _checked(replies)
            if cycle and not self._replies:
                raise ConfigError("a scripted model cannot cycle through an empty list of replies")
        self._cycle = cycle
        self._asked = 0
        self._lock = Lock()

    @property
    def calls(self) -> int:
        """Requests answered so far."""
        return self._asked

    def generate(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        """The next reply for each request, in order."""
        return [self._answer(request) for request in requests]

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

    def _listed(self, position: int) -> Reply:
        if self._cycle:
            return self._replies[position % len(self._replies)]
        if position < len(self._replies):
            return self._replies[position]
        # The number of the call stays out: sessions that end for the same reason are counted together.
        return ModelError(f"the script is used up: it has {len(self._replies)} replies")


def _checked(replies: Sequence[Reply]) -> tuple[Reply, ...]:
    for position, reply in enumerate(replies):
        if not isinstance(reply, str | Completion | ModelError):
            raise ConfigError(f"replies[{position}]: a text, got {reply!r}")
    return tuple(replies)


def load_function(reference: Path | str) -> ReplyFunction:
    """The function behind `"file.py:function"`. Raises ConfigError."""
    reference = str(reference)
    file, _, name = reference.rpartition(":")
    if not file:
        raise ConfigError(f"replies = {reference!r}: give 'file.py:function'")
    module = load_python_file(Path(file).expanduser(), f"replies = {reference!r}")
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(f"replies = {reference!r}: {file!r} has no function {name!r}")
    loaded: ReplyFunction = function
    return loaded


MODEL = ScriptedModel
