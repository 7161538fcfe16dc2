"""What a language model is, how one request is told from another, and what a record of calls does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Protocol, TypeAlias, runtime_checkable

from perdure.core.errors import ModelError, UsageError
from perdure.core.types import JSON, Completion, Message, Request
from perdure.core.usage import TokenCount

Outcome: TypeAlias = Completion | ModelError
"""What became of one request."""


@runtime_checkable
class LanguageModel(Protocol):
    """Anything that turns prompts into replies. Whoever asks one does so through a `ModelHandle`.

    A model that answers a batch at once may `return enumerate(outcomes)`.

    Two more facts, each an attribute that may be left out. `max_concurrency` (1): how many calls of one
    instance may be in flight, over all threads and batches; the instance itself keeps to it. `pure` (False):
    a reply depends on its request alone, its draw included, so that several tasks may be played at once.
    """

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | ModelError]]:
        """The position of each request and its outcome, as they arrive.

        Raises ModelUnavailable, after what did arrive, when no answer can be had at all.
        """

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """Size of a prompt: exact where the served tokenizer is at hand, else marked as an estimate."""


def max_concurrency(model: LanguageModel) -> int:
    """How many calls of this instance may be in flight."""
    return int(getattr(model, "max_concurrency", 1))


def is_pure(model: LanguageModel) -> bool:
    """A reply of this model depends on its request alone."""
    return bool(getattr(model, "pure", False))


def outcomes_of(model: LanguageModel, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
    """What a model answers, every request once. Raises UsageError for a model that breaks its contract."""
    owed = set(range(len(requests)))
    answers: object = model.generate(requests)
    for answer in answers if isinstance(answers, Iterable) else (answers,):
        match answer:
            case (int(position), Completion() | ModelError() as outcome) if position in owed:
                owed.remove(position)
                yield position, outcome
            case _:
                raise UsageError(
                    f"{type(model).__name__}.generate() gave {answer!r:.80}; it gives the position of each "
                    "request, once, and its Completion or ModelError"
                )
    if owed:
        raise UsageError(
            f"{type(model).__name__}.generate() left {len(owed)} of {len(requests)} requests unanswered"
        )


def timed(outcome: Outcome, seconds: float) -> Outcome:
    """An outcome that took so long from when its request was sent, waits for a connection left out."""
    if isinstance(outcome, Completion):
        return outcome.taking(seconds)
    outcome.seconds = seconds
    return outcome


def all_outcomes(model: LanguageModel, requests: Sequence[Request]) -> list[Outcome]:
    """What a model answers, in the order of the requests. Raises what `outcomes_of` raises."""
    found = dict(outcomes_of(model, requests))
    return [found[position] for position in range(len(requests))]


@dataclass(frozen=True)
class ModelSpec:
    """How to build a model: a provider's name and its parameters. Equal specs share one instance."""

    provider: str
    parameters: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Canonical JSON of what is asked for; equal for equal specs."""
        return dumps([self.provider, self.parameters], sort_keys=True, default=str)


@dataclass(frozen=True)
class NumberedCall:
    """A call that its caller wants to make. `number` counts the caller's calls of this task from 0."""

    caller: str
    number: int
    model: str
    digest: str
    request: Request
    recorded: Outcome | None = None
    """What a re-executed task is answered with; None where the model must be asked."""
    from_cache: bool = False
    """The recorded answer came from the response cache: nobody was paid for it."""


class CallRecorder(Protocol):
    """Where calls are logged, and from where a re-executed task is served. Threads may share it."""

    @property
    def repeat(self) -> int:
        """Which repeat of its task is under way."""

    @property
    def turn(self) -> int:
        """Inferences of the task so far, the one under way included."""

    def number(self, caller: str, model: str, request: Request, digest: str) -> NumberedCall:
        """Give a call its number, and its recorded answer where there is one.

        Raises Divergence when the call that was recorded in this place is another one.
        """

    def ask(self, call: NumberedCall) -> None:
        """Log a call before its model is asked: from here on it is perhaps paid."""

    def answer(
        self, call: NumberedCall, outcome: Outcome, seconds: float, *, from_cache: bool = False
    ) -> None:
        """Log what became of a call, before anybody acts on it; in any order."""

    def wait(self, seconds: float) -> None:
        """So long the task waited for a connection: that does not count as time spent on it."""


class ResponseStore(Protocol):
    """A response cache: content-addressed, shared by processes."""

    def get(self, digest: str) -> Completion | None:
        """The stored completion, if there is one."""

    def put(self, digest: str, completion: Completion) -> None:
        """Store a completion atomically."""
