"""What a task's model calls were, what they cost, and when it was played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.core.model import Outcome
from perdure.core.types import Request
from perdure.core.usage import Usage

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
