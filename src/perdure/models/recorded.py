"""A finished run as a model: its calls are answered again, and nothing is ever asked of anybody."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from json import loads
from pathlib import Path
from threading import Lock

from perdure.core.errors import ModelUnavailable, RunFolderError
from perdure.core.model import Outcome
from perdure.core.request_digest import request_digest
from perdure.core.types import JSON, Message, Request, Sampling
from perdure.core.usage import TokenCount
from perdure.models.token_estimate import estimate_messages
from perdure.storage.records import RecordedCall
from perdure.storage.run_reader import RunReader


class RecordedModel:
    """Answers a request with the outcome that a run recorded for it, errors included.

    `run`: the run folder. `model`: answer only with calls of the model of this name in that run's
    configuration; by default with any. Equal requests that were recorded several times are answered in the
    recorded order, each once. A request is known by its messages, schema, tools, sampling and draw,
    whatever model was asked. Usage is that of the run's ledger, where it tells one call from another.

    Raises RunFolderError for a folder without sessions.
    """

    honours_sampling = False

    def __init__(self, run: Path | str, *, model: str | None = None) -> None:
        self.run = Path(run)
        if not (self.run / "sessions.jsonl").is_file():
            raise RunFolderError(f"run = {str(run)!r} is not a run folder: it has no sessions.jsonl")
        self._lock = Lock()
        self._recorded: dict[str, deque[Outcome]] = {}
        reader = RunReader(self.run)
        for call in chain.from_iterable(reader.calls(index) for index in range(len(reader))):
            if model is None or call.model == model:
                key = request_digest(recorded_request(call))
                self._recorded.setdefault(key, deque()).append(call.outcome)

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """The recorded outcomes. Raises ModelUnavailable for a request that the run does not hold."""
        for position, request in enumerate(requests):
            yield position, self._recall(request)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """An estimate."""
        return estimate_messages(messages)

    def _recall(self, request: Request) -> Outcome:
        key = request_digest(request)
        with self._lock:
            outcomes = self._recorded.get(key)
            if outcomes:
                return outcomes.popleft()
        what = "no more answers to" if outcomes is not None else "no answer to"
        raise ModelUnavailable(f"the run {str(self.run)!r} holds {what} the request {key}")


def recorded_request(call: RecordedCall) -> Request:
    """The request that was asked: prompt and options as they were."""
    options: dict[str, JSON] = loads(call.options)
    sampling = dict(options.pop("sampling"))
    stop = tuple(sampling.pop("stop"))
    return Request(call.messages, sampling=Sampling(**sampling, stop=stop), draw=call.draw, **options)


MODEL = RecordedModel
