"""Language models and the pool that shares them (LifelongAgentBench B.1.1).

The pool builds each model once, however many names and callers it has, meters tokens for every caller, and
passes every call through a recorder (the call log of the task) so that an interrupted task can be re-executed
exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from json import dumps
from typing import Protocol, TypeAlias, runtime_checkable

from perdure.core.errors import ModelError, PluginNotFound
from perdure.core.types import JSON, Completion, Message, Request, Sampling, TokenCount, Usage

__all__ = [
    "CallRecorder",
    "Completion",
    "LanguageModel",
    "ModelHandle",
    "ModelPool",
    "ModelSpec",
    "NumberedCall",
    "Outcome",
    "Request",
    "ResponseStore",
    "Sampling",
    "request_digest",
]

Outcome: TypeAlias = Completion | ModelError
"""What became of one request."""


@runtime_checkable
class LanguageModel(Protocol):
    """Anything that turns prompts into replies."""

    def generate(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        """One outcome a request, in order. Raises ModelUnavailable when no answer can be had at all."""

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """Size of a prompt: exact where the served tokenizer is at hand, else marked as an estimate."""


@dataclass(frozen=True)
class ModelSpec:
    """How to build a model: a provider's name and its parameters. Equal specs share one instance."""

    provider: str
    parameters: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Canonical JSON of what is asked for; equal for equal specs."""
        return dumps([self.provider, self.parameters], sort_keys=True, default=str)


def request_options(request: Request) -> str:
    """Everything of a request but its messages, as canonical JSON."""
    return dumps(
        {
            "schema": request.schema,
            "tools": list(request.tools) if request.tools is not None else None,
            "logprobs": request.logprobs,
            "sampling": vars(request.sampling),
            "sample": request.sample,
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def request_digest(request: Request, model: str = "") -> str:
    """Content address of a request to one model, 32 hex digits; O(messages), each text hashed once."""
    parts = [model, request_options(request)]
    for message in request.messages:
        parts.append(message.role)
        parts.append(message.digest)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


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


class ResponseStore(Protocol):
    """A response cache: content-addressed, shared by processes."""

    def get(self, digest: str) -> Completion | None:
        """The stored completion, if there is one."""

    def put(self, digest: str, completion: Completion) -> None:
        """Store a completion atomically."""


class ModelHandle:
    """A model as one caller sees it: metered and logged. It is itself a `LanguageModel`."""

    def __init__(self, pool: ModelPool, caller: str, model: str) -> None:
        self._pool = pool
        self.caller = caller
        self.model = model

    def under(self, caller: str) -> ModelHandle:
        """The same model, metered and logged for somebody else who asks it."""
        return ModelHandle(self._pool, caller, self.model)

    def generate(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        """Answer from the call log while a task is re-executed, then from the cache, then from the model."""
        return self._pool.answer(self.caller, self.model, requests)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """The model's own count."""
        return self._pool.get(self.model).count_tokens(messages)


class ModelPool:
    """Name → model. Models are built on first use; equal specs share one instance."""

    def __init__(
        self,
        specs: Mapping[str, ModelSpec],
        build: Callable[[ModelSpec], LanguageModel],
        *,
        identify: Callable[[ModelSpec], str] = lambda spec: spec.key,
        cache: ResponseStore | None = None,
    ) -> None:
        """`identify` gives what a model's replies depend on: a part of requests' digests and cache keys."""
        self._specs = dict(specs)
        self._build = build
        self._identify = lru_cache(maxsize=None)(lambda name: identify(self._specs[name]))
        self._cache = cache
        self._instances: dict[str, LanguageModel] = {}
        self.usage = Usage()
        """Tokens of every call so far in this process, cache hits left out."""
        self.recorder: CallRecorder | None = None
        """The call log of the task under way, set by whoever plays it."""

    def caller(self, caller: str, model: str) -> ModelHandle:
        """A handle for one caller. Raises PluginNotFound for an unknown model name."""
        if model not in self._specs:
            raise PluginNotFound("model", model, self._specs)
        return ModelHandle(self, caller, model)

    def get(self, name: str) -> LanguageModel:
        """The shared instance behind a name."""
        spec = self._specs[name]
        if spec.key not in self._instances:
            self._instances[spec.key] = self._build(spec)
        return self._instances[spec.key]

    def close(self) -> None:
        """Close every model that has a `close`. Idempotent."""
        for model in self._instances.values():
            close = getattr(model, "close", None)
            if close is not None:
                close()
        self._instances.clear()

    def answer(self, caller: str, model: str, requests: Sequence[Request]) -> list[Outcome]:
        """One outcome a request: recorded calls and cached ones first, the rest asked in one batch."""
        identity = self._identify(model)
        recorder = self.recorder if self.recorder is not None else _Unrecorded()
        calls = [
            recorder.number(caller, model, request, request_digest(request, identity)) for request in requests
        ]
        outcomes = {i: call.recorded for i, call in enumerate(calls) if call.recorded is not None}
        for i, outcome in outcomes.items():
            self._meter(outcome, paid=not calls[i].from_cache)
        if self._cache is not None:
            for i, call in enumerate(calls):
                if i not in outcomes and (cached := self._cache.get(call.digest)) is not None:
                    recorder.answer(call, cached, 0.0, from_cache=True)
                    outcomes[i] = cached
        missing = [i for i in range(len(calls)) if i not in outcomes]
        if missing:
            fresh = self._ask(model, [calls[i] for i in missing], recorder)
            outcomes.update(zip(missing, fresh, strict=True))
        return [outcomes[i] for i in range(len(calls))]

    def _ask(self, model: str, calls: Sequence[NumberedCall], recorder: CallRecorder) -> list[Outcome]:
        for call in calls:
            recorder.ask(call)
        started = time.perf_counter()
        outcomes = self.get(model).generate([call.request for call in calls])
        seconds = (time.perf_counter() - started) / len(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            recorder.answer(call, outcome, seconds)
            self._meter(outcome)
            if self._cache is not None and isinstance(outcome, Completion):
                self._cache.put(call.digest, outcome)
        return list(outcomes)

    def _meter(self, outcome: Outcome, *, paid: bool = True) -> None:
        if paid and isinstance(outcome, Completion):
            self.usage += outcome.usage


class _Unrecorded:
    """Calls that belong to no task: nothing is logged and nothing is served."""

    def number(self, caller: str, model: str, request: Request, digest: str) -> NumberedCall:
        return NumberedCall(caller, 0, model, digest, request)

    def ask(self, call: NumberedCall) -> None:
        return

    def answer(
        self, call: NumberedCall, outcome: Outcome, seconds: float, *, from_cache: bool = False
    ) -> None:
        return
