"""Whether instances of an environment that is `side_by_side` really do not disturb each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from threading import Barrier

from perdure.conformance.checks import require
from perdure.conformance.environment_play import Subject, parting
from perdure.conformance.result import NOT_APPLICABLE

_THREADS = 2
_SWITCH_SECONDS = 1e-5
"""How long a thread runs before another may: so short that races show."""


def instances_do_not_disturb_each_other(subject: Subject) -> str:
    """Two instances, interleaved and in two threads, answer as one alone does."""
    if not subject.world.side_by_side:
        return f"{NOT_APPLICABLE}: the world does not say that it is side_by_side"
    alone = {
        task: subject.transcript(subject.environment, task, subject.actions(task)) for task in subject.tasks
    }
    for first, second in zip(subject.tasks, reversed(subject.tasks), strict=True):
        for task, found in zip((first, second), _interleaved(subject, first, second), strict=True):
            require(found == alone[task], f"task {task!r}, interleaved: {parting(alone[task], found)}")
    for task, found in _in_threads(subject):
        require(found == alone[task], f"task {task!r}, in a thread: {parting(alone[task], found)}")
    return f"{len(alone)} tasks, interleaved and in {_THREADS} threads"


def _interleaved(subject: Subject, first: str, second: str) -> tuple[list[str], list[str]]:
    """What two instances say that take turns, one in each task."""
    plays = [subject.steps(subject.fresh(), task, subject.actions(task)) for task in (first, second)]
    found: tuple[list[str], list[str]] = ([], [])
    for texts in zip_longest(*plays):
        for said, text in zip(found, texts, strict=True):
            said.extend([] if text is None else [text])
    return found


def _in_threads(subject: Subject) -> Iterator[tuple[str, list[str]]]:
    """What instances say that are built, used and released by threads of their own, at the same time."""
    together = Barrier(_THREADS, timeout=600)

    def played(tasks: Sequence[str]) -> list[tuple[str, list[str]]]:
        together.wait()
        environment = subject.build()
        try:
            return [(task, subject.transcript(environment, task, subject.actions(task))) for task in tasks]
        finally:
            environment.release()

    orders = [subject.tasks, subject.tasks[::-1]]
    with _switching_often(), ThreadPoolExecutor(_THREADS) as threads:
        for found in threads.map(played, orders):
            yield from found


@contextmanager
def _switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
