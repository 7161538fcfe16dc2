"""The pool that shares models (LifelongAgentBench B.1.1), and the handles through which they are asked.

The pool builds each model once, however many names and callers it has, cleans every reply where it enters,
meters tokens, and passes every call through the call log of the task under way, so that an interrupted task
can be re-executed exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf
from threading import Lock

from perdure.core.draws import Draws
from perdure.core.errors import PluginNotFound
from perdure.core.model import (
    CallRecorder,
    LanguageModel,
    ModelSpec,
    NumberedCall,
    Outcome,
    ResponseStore,
    max_concurrency,
    outcomes_of,
)
from perdure.core.reply_cleaning import clean_completion
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import TokenCount, Usage


class ModelHandle:
    """A model as one caller sees it: metered, logged, its replies clean, in the requests' order."""

    def __init__(self, pool: ModelPool, caller: str, model: str) -> None:
        self._pool = pool
        self.caller = caller
        self.model = model

    @classmethod
    def of(cls, model: LanguageModel | ModelHandle, caller: str = "") -> ModelHandle:
        """A handle for a model that no experiment knows; a handle stays what it is."""
        if isinstance(model, ModelHandle):
            return model
        return ModelPool({"": ModelSpec("")}, lambda spec: model).caller(caller, "")

    def under(self, caller: str) -> ModelHandle:
        """The same model, metered and logged for somebody else who asks it."""
        return ModelHandle(self._pool, caller, self.model)

    def generate(self, requests: Sequence[Request]) -> list[Outcome]:
        """Answer from the call log while a task is re-executed, then from the cache, then from the model.

        Raises ModelUnavailable; what had arrived is logged.
        """
        return self._pool.answer(self.caller, self.model, requests)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """The model's own count."""
        return self._pool.get(self.model).count_tokens(messages)


@dataclass
class _Shared:
    """What the lanes of a pool have in common."""

    specs: Mapping[str, ModelSpec]
    build: Callable[[ModelSpec], LanguageModel]
    identify: Callable[[ModelSpec], str]
    cache: ResponseStore | None
    identities: dict[str, str] = field(default_factory=dict)
    instances: dict[str, LanguageModel] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    handed_out: set[str] = field(default_factory=set)
    building: Lock = field(default_factory=Lock)
    metering: Lock = field(default_factory=Lock)

    def identity(self, name: str) -> str:
        """What the replies of a named model depend on, asked for once."""
        if name not in self.identities:
            self.identities[name] = self.identify(self.specs[name])
        return self.identities[name]


class ModelPool:
    """Name → model. Models are built on first use; equal specs share one instance.

    Each lane asks through a pool of its own (`lane`) with its own call log; the rest is shared.
    """

    def __init__(
        self,
        specs: Mapping[str, ModelSpec],
        build: Callable[[ModelSpec], LanguageModel],
        *,
        identify: Callable[[ModelSpec], str] = lambda spec: spec.key,
        cache: ResponseStore | None = None,
    ) -> None:
        """`identify` gives what a model's replies depend on: a part of requests' digests and cache keys."""
        self._shared = _Shared(dict(specs), build, identify, cache)
        self.recorder: CallRecorder | None = None
        """The call log of this lane's task under way, set by whoever plays it."""
        self._draws = Draws()

    def lane(self) -> ModelPool:
        """The same models for another lane."""
        other = copy(self)
        other.recorder = None
        other._draws = Draws()
        return other

    @property
    def usage(self) -> Usage:
        """Tokens of every call so far in this process, cache hits left out."""
        return self._shared.usage

    def caller(self, caller: str, model: str) -> ModelHandle:
        """A handle for one caller. Raises PluginNotFound for an unknown model name."""
        if model not in self._shared.specs:
            raise PluginNotFound("model", model, self._shared.specs)
        self._shared.handed_out.add(model)
        return ModelHandle(self, caller, model)

    @property
    def asked(self) -> dict[str, LanguageModel]:
        """The models that somebody has a handle for, by name."""
        return {name: self.get(name) for name in sorted(self._shared.handed_out)}

    def get(self, name: str) -> LanguageModel:
        """The shared instance behind a name."""
        shared = self._shared
        spec = shared.specs[name]
        with shared.building:
            if spec.key not in shared.instances:
                shared.instances[spec.key] = shared.build(spec)
            return shared.instances[spec.key]

    def close(self) -> None:
        """Close every model that has a `close`. Idempotent."""
        with self._shared.building:
            for model in self._shared.instances.values():
                close = getattr(model, "close", None)
                if close is not None:
                    close()
            self._shared.instances.clear()

    def answer(self, caller: str, model: str, requests: Sequence[Request]) -> list[Outcome]:
        """One outcome a request: recorded calls and cached ones first, the rest asked in one batch."""
        identity, cache = self._shared.identity(model), self._shared.cache
        recorder = self.recorder if self.recorder is not None else _Unrecorded()
        calls = [
            recorder.number(caller, model, drawn, digest)
            for drawn, digest in self._draws.stamp(caller, identity, requests, recorder)
        ]
        outcomes = {i: call.recorded for i, call in enumerate(calls) if call.recorded is not None}
        for i, outcome in outcomes.items():
            self._meter(outcome, paid=not calls[i].from_cache)
        if cache is not None:
            for i, call in enumerate(calls):
                if i not in outcomes and (cached := cache.get(call.digest)) is not None:
                    recorder.answer(call, cached, 0.0, from_cache=True)
                    outcomes[i] = cached
        missing = [i for i in range(len(calls)) if i not in outcomes]
        for position, outcome in self._ask(model, [calls[i] for i in missing], recorder):
            outcomes[missing[position]] = outcome
        return [outcomes[i] for i in range(len(calls))]

    def _ask(
        self, model: str, calls: Sequence[NumberedCall], recorder: CallRecorder
    ) -> Iterator[tuple[int, Outcome]]:
        if not calls:
            return
        for call in calls:
            recorder.ask(call)
        instance = self.get(model)
        one_by_one = max_concurrency(instance) == 1
        first = began = time.perf_counter()
        under_way: list[tuple[float, float]] = []
        for position, outcome in outcomes_of(instance, [call.request for call in calls]):
            if isinstance(outcome, Completion):
                outcome = clean_completion(outcome)
            now = time.perf_counter()
            seconds = min(outcome.seconds or now - began, now - began)
            under_way.append((now - seconds, now))
            recorder.answer(calls[position], outcome, seconds)
            self._meter(outcome)
            if self._shared.cache is not None and isinstance(outcome, Completion):
                self._shared.cache.put(calls[position].digest, outcome)
            yield position, outcome
            if one_by_one:
                began = now
        recorder.wait(now - first - covered(under_way))

    def _meter(self, outcome: Outcome, *, paid: bool = True) -> None:
        if paid and isinstance(outcome, Completion):
            with self._shared.metering:
                self._shared.usage += outcome.usage


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these spans was under way."""
    total, reached = 0.0, -inf
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


class _Unrecorded:
    """Calls that belong to no task: nothing is logged and nothing is served."""

    repeat = 0
    turn = 0

    def number(self, caller: str, model: str, request: Request, digest: str) -> NumberedCall:
        return NumberedCall(caller, 0, model, digest, request)

    def ask(self, call: NumberedCall) -> None:
        return

    def answer(
        self, call: NumberedCall, outcome: Outcome, seconds: float, *, from_cache: bool = False
    ) -> None:
        return

    def wait(self, seconds: float) -> None:
        return
