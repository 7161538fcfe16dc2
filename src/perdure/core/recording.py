"""What the loop hands over, and what it needs of whoever keeps it: `perdure.storage` has what lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from perdure.core.charges import Call, Charge, Times
from perdure.core.environment import Opening
from perdure.core.model import CallRecorder
from perdure.core.session import Session
from perdure.core.types import JSON, Message, Observation


@dataclass(frozen=True)
class FinishedTask:
    """Everything that a played trial leaves: what a store commits as one."""

    session: Session
    """It has ended and has its outcome."""
    calls: tuple[Call, ...]
    """In the order in which they were asked."""
    deltas: Mapping[str, JSON]
    """What changed in every callback's state."""
    charges: tuple[Charge, ...]
    times: Times
    history_items: tuple[Message, ...] | None = None
    """What the history factory holds from here on; None where no callback edited it."""


class TaskLog(CallRecorder, Protocol):
    """Records the calls and observations of one task, and serves those of an interrupted one."""

    turn: int
    """Inferences so far, kept up by the controller."""

    @property
    def seconds(self) -> float:
        """Time spent on this task, that before an interruption included."""

    def proceed(self) -> None:
        """Called before each action: may raise to stop the task here, resumable."""

    def open(self, opening: Opening) -> Opening:
        """Keep how the task opened, or give the recorded opening that this one equals. Raises Divergence."""

    def observe(self, observation: Observation) -> Observation:
        """Keep an observation, or give the recorded one that this one equals. Raises Divergence."""

    def check_complete(self) -> None:
        """The task has ended. Raises Divergence where its record goes on."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of this task so far, in the order in which they were asked."""

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was asked for this task so far, in every attempt."""

    @property
    def times(self) -> Times:
        """When it was played so far."""
