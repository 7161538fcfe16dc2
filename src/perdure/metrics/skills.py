"""Success by skill and overall, as the paper counts them, as flat `name -> number`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus


def skill_metrics(
    records: Iterable[SessionRecord],
    skills: Mapping[str, Iterable[str]],
    *,
    empty_rate: float | None = None,
) -> dict[str, float]:
    """Counts and rates of finished sessions, ignored ones left out; one pass, memory in the number of skills.

    `skills` maps a task id to its skills. Keys: `overall.basic.session_count`, `overall.cumulative_reward`,
    `overall.success_rate`, `overall.evaluation_outcome.<outcome>` and `overall.sample_status.<status>`
    (fractions of sessions; those that occur), `skill.<name>.{count, correct_count, correct_rate}` for every
    skill of the task set. A rate over nothing is left out, or `empty_rate`: the paper writes -1.
    """
    outcomes: Counter[EvaluationOutcome] = Counter()
    statuses: Counter[SessionStatus] = Counter()
    seen: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    reward = 0.0
    for record in records:
        if record.ignored:
            continue
        outcomes[record.outcome] += 1
        statuses[record.status] += 1
        reward += record.reward
        for skill in skills.get(record.task_id, ()):
            seen[skill] += 1
            correct[skill] += record.correct
    total = sum(outcomes.values())
    metrics = {
        "overall.basic.session_count": float(total),
        "overall.cumulative_reward": reward,
    }

    def add_rate(name: str, part: int, whole: int) -> None:
        if whole:
            metrics[name] = part / whole
        elif empty_rate is not None:
            metrics[name] = empty_rate

    add_rate("overall.success_rate", outcomes[EvaluationOutcome.CORRECT], total)
    for outcome in EvaluationOutcome:
        if outcomes[outcome]:
            metrics[f"overall.evaluation_outcome.{outcome}"] = outcomes[outcome] / total
    for status in SessionStatus:
        if statuses[status]:
            metrics[f"overall.sample_status.{status}"] = statuses[status] / total
    for skill in sorted({skill for names in skills.values() for skill in names}):
        count = seen[skill]
        metrics[f"skill.{skill}.count"] = float(count)
        metrics[f"skill.{skill}.correct_count"] = float(correct[skill])
        add_rate(f"skill.{skill}.correct_rate", correct[skill], count)
    return metrics
