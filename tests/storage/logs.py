"""A call log in a folder, and what is done with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.core.environment import Opening
from perdure.core.history import InteractionHistory
from perdure.core.model import NumberedCall, Outcome
from perdure.core.types import (
    Completion,
    Message,
    Observation,
    Request,
)
from perdure.storage.call_log import CallLog, OnDivergence


def request(text: str) -> Request:
    return Request((Message("user", text),))


@contextmanager
def opened(folder: Path, on_divergence: OnDivergence = "restart", **header: str | int) -> Iterator[CallLog]:
    log = CallLog(
        folder / "0.jsonl",
        {"index": 0, "task": "t", "repeat": 0, **header},
        on_divergence=on_divergence,
        normalise=lambda text: text.split("<")[0],
    )
    try:
        yield log
    finally:
        log.close()


def number(log: CallLog, text: str, caller: str = "agent") -> NumberedCall:
    return log.number(caller, "m", request(text), f"digest of {text}")


def make(log: CallLog, text: str, outcome: Outcome | None = None, seconds: float = 0.5) -> None:
    call = number(log, text)
    assert call.recorded is None
    log.ask(call)
    log.answer(call, outcome or Completion(text), seconds)


def recall(log: CallLog, text: str, caller: str = "agent") -> Outcome | None:
    """The recorded answer; a call that has none is made."""
    call = number(log, text, caller)
    if call.recorded is None:
        log.ask(call)
        log.answer(call, Completion(f"new {text}"), 0.1)
    return call.recorded


def opening(text: str, goal: str = "g") -> Opening:
    history = InteractionHistory([Message("user", f"{goal} {text}")])
    return Opening(goal, Observation(text), history)


def three_events(folder: Path) -> None:
    with opened(folder) as log:
        make(log, "a")
        log.observe(Observation("seen"))
        make(log, "b")
