"""A learner whose gain, forgetting and transfer are known in closed form, drawn trial by trial.

Groups are learned in blocks. A task of a group not yet learned is solved with START + SPREAD * (share of the
groups learned so far), one just learned with LEARNED, and each block after that takes LOSS away.
A run adds an effect of its own, of mean zero, to every probability: its trials depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus

START, SPREAD, LEARNED, LOSS = 0.2, 0.2, 0.7, 0.06
RUN_EFFECT = 0.1
"""A run's effect is uniform between minus and plus this."""


@dataclass(frozen=True)
class SyntheticLearner:
    """`groups` blocks of `tasks` tasks."""

    groups: int = 4
    tasks: int = 6
    held_out: int = 1

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """The expected matrix R; the held-out groups are the last columns."""
        rows = []
        for row in range(self.groups + 1):
            unlearned = START + SPREAD * row / self.groups
            known = [LEARNED - LOSS * (row - group - 1) for group in range(min(row, self.groups))]
            rows.append(known + [unlearned] * (self.groups - row + self.held_out))
        return np.array(rows)

    @property
    def learned(self) -> list[int | None]:
        return [*range(1, self.groups + 1), *[None] * self.held_out]

    @property
    def forward(self) -> float:
        return fmean(SPREAD * group / self.groups for group in range(1, self.groups))

    @property
    def forgetting(self) -> float:
        return fmean(LOSS * (self.groups - 1 - group) for group in range(self.groups - 1))

    @property
    def generalisation(self) -> float:
        return SPREAD

    @property
    def gain(self) -> float:
        """Of a stream whose tasks are played with the transfer to their group, before it is learned."""
        return fmean(SPREAD * group / self.groups for group in range(self.groups))

    def matrix(self, draw: np.random.Generator) -> list[list[float]]:
        """One run's measured R."""
        effect = draw.uniform(-RUN_EFFECT, RUN_EFFECT)
        measured: list[list[float]] = (draw.binomial(self.tasks, self.truth + effect) / self.tasks).tolist()
        return measured

    def stream(
        self, draw: np.random.Generator, *, learns: bool = True, effect: float = 0.0
    ) -> list[SessionRecord]:
        """One stream over all groups, with memory or without."""
        spread = SPREAD / self.groups if learns else 0.0
        chances = [START + effect + spread * group for group in range(self.groups)]
        solved = draw.random((self.groups, self.tasks)) < np.array(chances)[:, None]
        return [record(str(i), bool(hit)) for i, hit in enumerate(solved.ravel())]


def record(
    task_id: str,
    correct: bool = True,
    *,
    status: SessionStatus = SessionStatus.COMPLETED,
    outcome: EvaluationOutcome | None = None,
    repeat: int = 0,
) -> SessionRecord:
    """A finished session."""
    verdict = outcome or (EvaluationOutcome.CORRECT if correct else EvaluationOutcome.INCORRECT)
    reward = float(verdict is EvaluationOutcome.CORRECT)
    return SessionRecord(task_id, repeat, status, verdict, reward, interactions=3, turns=4)
