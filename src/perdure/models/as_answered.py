"""Bounded threads over a batch, results as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_Ended: TypeAlias = None


def as_answered(
    function: Callable[[Item, Event], Result], items: Sequence[Item], most_at_once: int
) -> Iterator[tuple[int, Result]]:
    """`(position, function(item, stop))` for each item, at most `most_at_once` at once, in any order.

    After a failure `stop` is set and no further item is begun; what is under way is awaited and handed out,
    then the first failure is raised. Whoever stops iterating leaves what is under way to daemon threads, so
    that Ctrl-C does not wait for slow servers.
    """
    stop = Event()
    if len(items) == 1:
        yield 0, function(items[0], stop)
        return
    positions = iter(range(len(items)))
    answers: SimpleQueue[tuple[int, Result] | BaseException | _Ended] = SimpleQueue()

    def work() -> None:
        try:
            while not stop.is_set() and (position := next(positions, None)) is not None:
                answers.put((position, function(items[position], stop)))
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
            stop.set()
            answers.put(failure)
        finally:
            answers.put(None)

    working = min(most_at_once, len(items))
    for _ in range(working):
        Thread(target=work, daemon=True).start()
    failure: BaseException | None = None
    try:
        while working:
            answer = answers.get()
            if answer is None:
                working -= 1
            elif isinstance(answer, BaseException):
                failure = failure or answer
            else:
                yield answer
    finally:
        stop.set()
    if failure is not None:
        raise failure
