"""What the loop hands over, and what it needs of whoever keeps it: `perdure.storage` has what lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from perdure.core.environment import Opening
from perdure.core.model import CallRecorder, Outcome
from perdure.core.session import Session
from perdure.core.types import JSON, Message, Observation, Request, Usage

Answered: TypeAlias = Literal["asked", "cache", "unanswered", "log"]
"""How a call was first answered: by the model, by the response cache, not at all (perhaps paid), or from the
record of another run, which costs nothing."""


@dataclass(frozen=True)
class Call:
    """One model call of a finished session. `number` counts the calls of its caller from 0."""

    caller: str
    number: int
    model: str
    digest: str
    request: Request
    outcome: Outcome


@dataclass(frozen=True)
class Charge:
    """One row of the ledger: a call that was asked, whatever became of it. `attempt` counts fresh starts."""

    attempt: int
    caller: str
    number: int
    model: str
    answered: Answered
    usage: Usage
    seconds: float
    started: float
    """Seconds since 1970 (UTC)."""


@dataclass(frozen=True)
class Times:
    """When a task was played, and how often it had to be taken up."""

    started: float
    """Seconds since 1970 (UTC) of its very first start."""
    seconds: float
    """Spent on the attempt that counts, that before an interruption included."""
    resumes: int = 0
    """Interruptions after which it went on where it was."""
    restarts: int = 0
    """Attempts before the one that counts."""
    divergences: int = 0
    """How often its re-execution differed from the record."""
    damaged: int = 0
    """Lines of its log that could not be read."""


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
