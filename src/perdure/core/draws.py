"""Tells draws of one prompt apart: each request of a session is stamped with repeat, turn and draw."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from perdure.core.randomness import keyed_seed
from perdure.core.session import Session
from perdure.core.types import Request


class Draws:
    """Numbers equal requests of one caller within a turn from 0, anew in each session.

    A restarted session counts alike, so a re-executed request is stamped as it was. A request that samples
    with a seed gets another one for each further draw: the stamp itself is never sent.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = session.turns
        self._asked: Counter[tuple[str, str]] = Counter()

    def stamp(self, caller: str, request: Request, digest: str) -> Request:
        """The request as this draw of it; `digest` is its content address without a stamp."""
        if self._session.turns != self._turn:
            self._turn = self._session.turns
            self._asked.clear()
        draw = self._asked[caller, digest]
        self._asked[caller, digest] += 1
        sampling = request.sampling
        if draw and sampling.seed is not None and sampling.temperature > 0:
            sampling = replace(sampling, seed=keyed_seed(sampling.seed, "draw", draw))
        return replace(request, draw=(self._session.sample, self._turn, draw), sampling=sampling)
