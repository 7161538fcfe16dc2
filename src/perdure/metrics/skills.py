"""Success by skill and overall, as the paper counts them, as flat `name -> number`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus

_ONLY_LEVEL = "0"


def skill_metrics(
    records: Iterable[SessionRecord],
    skills: Mapping[str, Iterable[str]],
    *,
    as_paper: bool = False,
) -> dict[str, float]:
    """Counts and rates of finished sessions, ignored ones left out; one pass, memory in the number of skills.

    `skills` maps a task id to its skills. Keys: `overall.basic.session_count`, `overall.cumulative_reward`,
    `overall.success_rate`, `overall.evaluation_outcome.<outcome>` and `overall.sample_status.<status>`
    (fractions of sessions; those that occur), `skill.<name>.{count, correct_count, correct_rate}` for every
    skill of the task set. A rate over nothing is left out.

    `as_paper` has what LifelongAgentBench's code has: -1 for a rate over nothing, outcomes and statuses that
    did not occur, the same three of each skill once more as `effective_…` (every skill of a task counts as
    effective there), and `difficulty_level.0`, the only level of its tasks.
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
        elif as_paper:
            metrics[name] = -1.0

    add_rate("overall.success_rate", outcomes[EvaluationOutcome.CORRECT], total)
    for outcome in EvaluationOutcome:
        if outcomes[outcome] or (as_paper and total):
            metrics[f"overall.evaluation_outcome.{outcome}"] = outcomes[outcome] / total
    for status in SessionStatus:
        if statuses[status] or (as_paper and total):
            metrics[f"overall.sample_status.{status}"] = statuses[status] / total
    for skill in sorted({skill for names in skills.values() for skill in names}):
        count = seen[skill]
        metrics[f"skill.{skill}.count"] = float(count)
        metrics[f"skill.{skill}.correct_count"] = float(correct[skill])
        add_rate(f"skill.{skill}.correct_rate", correct[skill], count)
    if as_paper:
        metrics.update(_only_in_the_paper(metrics, total, outcomes[EvaluationOutcome.CORRECT]))
    return metrics


def _only_in_the_paper(metrics: Mapping[str, float], total: int, correct: int) -> dict[str, float]:
    """The effective skills, which are all of them, and the difficulty levels, of which there is one."""
    parts = ((name.rpartition("."), value) for name, value in metrics.items() if name.startswith("skill."))
    more = {f"{skill}.effective_{part}": value for (skill, _, part), value in parts}
    if total:
        level = f"difficulty_level.{_ONLY_LEVEL}"
        more |= {f"{level}.count": float(total), f"{level}.correct_count": float(correct)}
        more[f"{level}.correct_rate"] = correct / total
    return more
