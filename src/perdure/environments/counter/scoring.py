"""The counter stands on the target, or it does not."""

from __future__ import annotations

from perdure.core.types import Evaluation, EvaluationOutcome
from perdure.environments.counter.tasks import CounterTask


def grade(task: CounterTask, value: int) -> Evaluation:
    """Reward 1 on the target; `distance` tells how far off it is."""
    reached = value == task.target
    outcome = EvaluationOutcome.CORRECT if reached else EvaluationOutcome.INCORRECT
    return Evaluation(outcome, float(reached), {"distance": abs(task.target - value)})
