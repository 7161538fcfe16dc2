"""An answer is right when it is the stored set, no more and no less."""

from __future__ import annotations

from collections.abc import Set

from perdure.core.types import Evaluation, EvaluationOutcome


def grade(gold: Set[str], answer: Set[str] | None) -> Evaluation:
    """Reward 1 for the exact set. `f1_score` compares sets; `executable_flag`: there was an answer at all."""
    right = answer is not None and answer == gold
    outcome = EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT
    detail = {"f1_score": f1_score(gold, answer or frozenset()), "executable_flag": answer is not None}
    return Evaluation(outcome, float(right), detail)


def f1_score(gold: Set[str], answer: Set[str]) -> float:
    """Harmonic mean of precision and recall of a set; 0 without a common member."""
    common = len(gold & answer)
    return 2 * common / (len(gold) + len(answer)) if common else 0.0
