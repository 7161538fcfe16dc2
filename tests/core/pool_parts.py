"""A model, a cache and pools with a call log, for tests of the pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.model import LanguageModel, ModelSpec, Outcome
from perdure.core.pool import ModelPool
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import TokenCount, Usage
from perdure.storage.call_log import CallLog


def ask(text: str) -> Request:
    return Request((Message("user", text),))


def echo(request: Request) -> Completion:
    return Completion(request.messages[-1].text.upper(), usage=Usage(10, 5, 4, 3))


class Batches:
    """A model that keeps the batches it was given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.closed = 0

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        self.batches.append([request.messages[-1].text for request in requests])
        if any(request.messages[-1].text == "down" for request in requests):
            raise ModelUnavailable("down")
        return enumerate(
            ModelError("bad") if request.messages[-1].text == "bad" else echo(request) for request in requests
        )

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return TokenCount(len(messages), exact=True)

    def close(self) -> None:
        self.closed += 1


class Store:
    """A response cache in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Completion] = {}

    def get(self, digest: str) -> Completion | None:
        return self.kept.get(digest)

    def put(self, digest: str, completion: Completion) -> None:
        self.kept[digest] = completion


def pool_with(model: LanguageModel, cache: Store | None = None) -> ModelPool:
    return ModelPool({"m": ModelSpec("p")}, lambda spec: model, cache=cache)


def texts(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.text if isinstance(outcome, Completion) else f"error {outcome}" for outcome in outcomes]


def logged(folder: Path, model: LanguageModel, cache: Store | None = None) -> tuple[ModelPool, CallLog]:
    pool = pool_with(model, cache)
    log = CallLog(folder / "0.jsonl", {"task": "t"})
    pool.recorder = log
    return pool, log
