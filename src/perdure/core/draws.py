"""Stamps each request of a task with its draw, so that votes and repeats differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from perdure.core.randomness import keyed_seed
from perdure.core.request_digest import drawn_digest, question_digest, request_digest
from perdure.core.types import Draw, Request


class TaskUnderWay(Protocol):
    """Where a task stands."""

    @property
    def repeat(self) -> int:
        """Which repeat of it this is."""

    @property
    def turn(self) -> int:
        """Inferences so far, the one under way included."""


class Draws:
    """Tells equal questions of one caller in one turn apart, by counting them."""

    def __init__(self) -> None:
        self._turn: tuple[TaskUnderWay | None, int] = (None, 0)
        self._asked: dict[tuple[str, str], int] = {}

    def stamp(
        self, caller: str, model: str, requests: Iterable[Request], task: TaskUnderWay
    ) -> Iterator[tuple[Request, str]]:
        """Each request with its draw, and its digest."""
        turn = (task, task.turn)
        if turn != self._turn:
            self._turn = turn
            self._asked.clear()
        for request in requests:
            question = question_digest(request, model)
            number = self._asked.get((caller, question), 0)
            self._asked[caller, question] = number + 1
            draw = Draw(task.repeat, task.turn, number)
            sampling = request.sampling
            if number and sampling.seed is not None and sampling.temperature > 0:
                # The stamp is not sent: by one seed a server would draw one reply k times.
                sampling = replace(sampling, seed=keyed_seed(sampling.seed, "draw", number))
            drawn = replace(request, draw=draw, sampling=sampling)
            yield drawn, request_digest(drawn, model) if number else drawn_digest(question, draw)
