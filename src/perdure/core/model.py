"""Language models and the pool that shares them (LifelongAgentBench B.1.1).

The pool builds each model once, however many names and callers it has, meters tokens for every caller, and
passes every call through a recorder (the journal) so that an interrupted task can be re-executed exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from json import dumps
from typing import Protocol, TypeAlias, runtime_checkable

from perdure.core.draws import Draws
from perdure.core.errors import ModelError, PluginNotFound
from perdure.core.types import JSON, Completion, Message, Request, Sampling, TokenCount, Usage

__all__ = [
    "CallCharge",
    "CallRecorder",
    "Completion",
    "LanguageModel",
    "ModelHandle",
    "ModelPool",
    "ModelSpec",
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
    def identity(self) -> str:
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
            "draw": list(request.draw),
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


class CallRecorder(Protocol):
    """Where calls are journalled, and from where a re-executed task is served."""

    def recall(self, caller: str, model: str, request: Request, digest: str) -> tuple[Outcome, float] | None:
        """The recorded outcome of the next call and its seconds, or None when the record is used up.

        Raises Divergence when the next recorded call is another one.
        """

    def note(
        self, caller: str, model: str, request: Request, digest: str, outcome: Outcome, seconds: float
    ) -> None:
        """Append one answered call."""


class ResponseStore(Protocol):
    """A response cache: content-addressed, shared by processes."""

    def get(self, digest: str) -> Completion | None:
        """The stored completion, if there is one."""

    def put(self, digest: str, completion: Completion) -> None:
        """Store a completion atomically."""


@dataclass(frozen=True)
class CallCharge:
    """What one call cost, for the ledger. `source` is `model`, `journal` or `cache`."""

    caller: str
    model: str
    usage: Usage
    seconds: float
    source: str


class ModelHandle:
    """A model as one caller sees it: metered and journalled. It is itself a `LanguageModel`."""

    def __init__(self, pool: ModelPool, caller: str, model: str) -> None:
        self._pool = pool
        self.caller = caller
        self.model = model

    def under(self, caller: str) -> ModelHandle:
        """The same model, metered and journalled for somebody else who asks it."""
        return ModelHandle(self._pool, caller, self.model)

    def generate(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        """Answer from the journal while a task is re-executed, then from the cache, then from the model."""
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
        cache: ResponseStore | None = None,
    ) -> None:
        self._specs = dict(specs)
        self._build = build
        self._cache = cache
        self._instances: dict[str, LanguageModel] = {}
        self._charges: list[CallCharge] = []
        self.usage = Usage()
        """Tokens of every call so far in this process, cache hits left out."""
        self.recorder: CallRecorder | None = None
        """The journal of the run under way, set by the controller."""
        self.draws: Draws | None = None
        """What tells the draws of the session under way apart, set by the controller."""

    def caller(self, caller: str, model: str) -> ModelHandle:
        """A handle for one caller. Raises PluginNotFound for an unknown model name."""
        if model not in self._specs:
            raise PluginNotFound("model", model, self._specs)
        return ModelHandle(self, caller, model)

    def get(self, name: str) -> LanguageModel:
        """The shared instance behind a name."""
        spec = self._specs[name]
        if spec.identity not in self._instances:
            self._instances[spec.identity] = self._build(spec)
        return self._instances[spec.identity]

    def drain_charges(self) -> list[CallCharge]:
        """Calls since the last drain, in order; the controller writes them to the ledger."""
        charges, self._charges = self._charges, []
        return charges

    def close(self) -> None:
        """Close every model that has a `close`. Idempotent."""
        for model in self._instances.values():
            close = getattr(model, "close", None)
            if close is not None:
                close()
        self._instances.clear()

    def answer(self, caller: str, model: str, requests: Sequence[Request]) -> list[Outcome]:
        """One outcome a request: recorded calls first, the rest asked in one batch."""
        spec = self._specs[model]
        if self.draws is not None:
            requests = [
                self.draws.stamp(caller, request, request_digest(request, spec.identity))
                for request in requests
            ]
        digests = [request_digest(request, spec.identity) for request in requests]
        outcomes: list[Outcome | None] = [
            self._recalled(caller, model, request, digest)
            for request, digest in zip(requests, digests, strict=True)
        ]
        missing = [i for i, outcome in enumerate(outcomes) if outcome is None]
        if missing:
            fresh = self._ask(model, [requests[i] for i in missing], [digests[i] for i in missing])
            for i, (outcome, seconds, source) in zip(missing, fresh, strict=True):
                if self.recorder is not None:
                    self.recorder.note(caller, model, requests[i], digests[i], outcome, seconds)
                self._charge(caller, model, outcome, seconds, source)
                outcomes[i] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    def _recalled(self, caller: str, model: str, request: Request, digest: str) -> Outcome | None:
        recorded = self.recorder.recall(caller, model, request, digest) if self.recorder else None
        if recorded is None:
            return None
        outcome, seconds = recorded
        self._charge(caller, model, outcome, seconds, "journal")
        return outcome

    def _ask(
        self, model: str, requests: Sequence[Request], digests: Sequence[str]
    ) -> list[tuple[Outcome, float, str]]:
        answers: list[tuple[Outcome, float, str] | None] = [None] * len(requests)
        if self._cache is not None:
            for i, digest in enumerate(digests):
                cached = self._cache.get(digest)
                if cached is not None:
                    answers[i] = (cached, 0.0, "cache")
        asked = [i for i, answer in enumerate(answers) if answer is None]
        if asked:
            started = time.perf_counter()
            outcomes = self.get(model).generate([requests[i] for i in asked])
            seconds = (time.perf_counter() - started) / len(asked)
            for i, outcome in zip(asked, outcomes, strict=True):
                answers[i] = (outcome, seconds, "model")
                if self._cache is not None and isinstance(outcome, Completion):
                    self._cache.put(digests[i], outcome)
        return [answer for answer in answers if answer is not None]

    def _charge(self, caller: str, model: str, outcome: Outcome, seconds: float, source: str) -> None:
        usage = outcome.usage if isinstance(outcome, Completion) else Usage()
        if source != "cache":
            self.usage += usage
        self._charges.append(CallCharge(caller, model, usage, seconds, source))
