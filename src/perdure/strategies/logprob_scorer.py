"""How surprising each piece of a text is to a language model that tells the probabilities of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.core.errors import ConfigError, ModelError
from perdure.core.pool import ModelHandle
from perdure.core.types import Completion, Message, Request, Sampling

_ALTERNATIVES = 20
_CONTEXT = 2_000
"""Characters before a piece that the model is shown."""

_CONTINUE = "Continue the text of the user exactly where it stops. Write nothing but its continuation."


class LogprobScorer:
    """Asks for one token after every beginning of the text, and looks up how probable the real one was.

    One short call a piece, in one batch. Chat interfaces tell only the likeliest alternatives: a piece that
    is not among them gets the surprisal of the least likely one, which is a lower bound. A piece whose call
    failed is taken for surprising, so that it is kept. Raises ConfigError for a model without logprobs.
    """

    label = "model"

    def __init__(self, model: ModelHandle | None) -> None:
        if model is None:
            raise ConfigError("scorer = 'model': a model is needed; give one as model")
        self._model = model
        self._before = ""

    def start(self) -> None:
        """A new task: nothing was read."""
        self._before = ""

    def score(self, pieces: Sequence[str]) -> list[float]:
        """Surprisal of each piece in nats, given the pieces before it and those scored earlier."""
        requests = []
        for piece in pieces:
            requests.append(self._request())
            self._before = (self._before + piece)[-_CONTEXT:]
        outcomes = self._model.generate(requests)
        return [
            float("inf") if isinstance(outcome, ModelError) else surprisal(piece, _distribution(outcome))
            for piece, outcome in zip(pieces, outcomes, strict=True)
        ]

    def _request(self) -> Request:
        return Request(
            (Message("system", _CONTINUE), Message("user", self._before or "\n")),
            logprobs=_ALTERNATIVES,
            sampling=Sampling(max_tokens=1),
        )


def surprisal(piece: str, distribution: Mapping[str, float]) -> float:
    """Nats of a piece where `distribution` are log-probabilities of tokens that may begin it."""
    wanted = piece.strip()
    found = [
        logprob
        for token, logprob in distribution.items()
        if (start := token.strip()) and (wanted.startswith(start) or start.startswith(wanted))
    ]
    if not wanted:
        found = [logprob for token, logprob in distribution.items() if not token.strip()]
    return -max(found, default=min(distribution.values()))


def _distribution(completion: Completion) -> Mapping[str, float]:
    if not completion.logprobs:
        raise ConfigError("scorer = 'model': this model tells no logprobs; choose 'ngram' or another model")
    first = completion.logprobs[0]
    return {**first.alternatives, first.token: first.logprob}
