"""Learning along a stream of tasks: curves, areas, regret, gain. Records come in the order of the stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import Literal, TypeAlias

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus
from perdure.metrics.statistics import Interval, mean_interval
from perdure.metrics.success import wilson_interval

TrialOutcome: TypeAlias = Literal[
    "correct", "incorrect", "limit_reached", "agent_error", "ungraded", "ignored"
]
"""What became of one trial; every trial is exactly one of these."""

Treatment: TypeAlias = Literal["excluded", "failed", "worst"]
"""What ungraded trials count as: nothing; failures; the candidate's failures but the baseline's successes."""

_BROKEN = (SessionStatus.TASK_ENVIRONMENT_ERROR, SessionStatus.TASK_UNKNOWN_ERROR)


def trial_outcome(record: SessionRecord) -> TrialOutcome:
    """The one typed outcome of a trial. Whatever was graded as correct is `correct`, wherever it ended.

    Ungraded is what says nothing about the agent: no verdict, or a task whose own world failed. Ignored is
    what could not be posed at all: it is known before anything is played, and the same for every agent.
    """
    if record.ignored:
        return "ignored"
    if record.correct:
        return "correct"
    if record.outcome is not EvaluationOutcome.INCORRECT or record.status in _BROKEN:
        return "ungraded"
    if record.status.is_abnormal_inference:
        return "agent_error"
    return "limit_reached" if record.status is SessionStatus.TASK_LIMIT_REACHED else "incorrect"


@dataclass(frozen=True)
class TrialCounts:
    """How many trials ended how, and the rate under each treatment of the ungraded ones.

    Ignored trials are counted, and in no denominator.
    """

    counts: Mapping[TrialOutcome, int]
    rates: Mapping[Treatment, tuple[int, int]]
    """Treatment → (successes, denominator). One run alone has no baseline: `worst` equals `failed`."""


def count_trials(records: Iterable[SessionRecord]) -> TrialCounts:
    """Count every trial once; no trial is dropped silently."""
    counts = Counter(trial_outcome(record) for record in records)
    total, correct = counts.total() - counts["ignored"], counts["correct"]
    everything = (correct, total)
    return TrialCounts(
        dict(counts),
        {"excluded": (correct, total - counts["ungraded"]), "failed": everything, "worst": everything},
    )


def counted(records: Iterable[SessionRecord]) -> Iterator[SessionRecord]:
    """Those that stand in denominators: all but the ignored ones."""
    return (record for record in records if not record.ignored)


@dataclass(frozen=True)
class CurvePoint:
    """The online success rate after so many tasks, with Wilson's pointwise 95 % interval."""

    tasks: int
    correct: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Correct sessions among the first `tasks`."""
        return self.correct / self.tasks


def online_curve(records: Iterable[SessionRecord]) -> list[CurvePoint]:
    """The running success rate of one stream, one point a task that is not ignored."""
    totals = accumulate(int(record.correct) for record in counted(records))
    return [CurvePoint(n, correct, *wilson_interval(correct, n)) for n, correct in enumerate(totals, 1)]


def mean_curve(streams: Sequence[Sequence[SessionRecord]]) -> list[Interval]:
    """The online success rate over runs, position by position: the run is the unit.

    Raises ValueError for streams of different lengths.
    """
    curves = [[point.rate for point in online_curve(stream)] for stream in streams]
    return [mean_interval(rates) for rates in zip(*curves, strict=True)]


def area_under_curve(records: Iterable[SessionRecord]) -> float:
    """Mean height of the online curve, in [0, 1]; early successes count most. 0 without tasks."""
    curve = online_curve(records)
    return fmean(point.rate for point in curve) if curve else 0.0


def cumulative_reward(records: Iterable[SessionRecord]) -> float:
    """Reward over all tasks (LifelongAgentBench, section 2)."""
    return sum(record.reward for record in records)


def regret(stream: Sequence[SessionRecord], reference: Iterable[SessionRecord]) -> list[float]:
    """Reward that the reference had above the stream, summed up to each position of the stream.

    The reference (stateless control, oracle) is matched by task and repeat, whatever its order; trials that
    either of them ignored are left out. Raises ValueError where it lacks a trial.
    """
    return list(accumulate(theirs - record.reward for record, theirs in _matched(stream, reference)))


def gain(stateful: Iterable[SessionRecord], stateless: Iterable[SessionRecord]) -> float:
    """Mean reward above the stateless control, paired by task and repeat. Raises ValueError without pairs.

    One number a run (its order and seed): `mean_interval` over several runs gives the interval.
    """
    return fmean(record.reward - theirs for record, theirs in _matched(stateful, stateless))


def skill_curves(
    records: Iterable[SessionRecord], skills: Mapping[str, Iterable[str]]
) -> dict[str, list[CurvePoint]]:
    """Skill → online curve over the tasks that need it; skills that no session needs are left out."""
    by_skill: defaultdict[str, list[SessionRecord]] = defaultdict(list)
    for record in records:
        for skill in skills.get(record.task_id, ()):
            by_skill[skill].append(record)
    return {skill: online_curve(by_skill[skill]) for skill in sorted(by_skill)}


def _matched(
    records: Iterable[SessionRecord], reference: Iterable[SessionRecord]
) -> Iterator[tuple[SessionRecord, float]]:
    """Each record with the reference's reward for its trial; what either of them ignored is left out."""
    others = {(record.task_id, record.repeat): record for record in reference}
    for record in counted(records):
        other = others.get((record.task_id, record.repeat))
        if other is None:
            raise ValueError(f"the reference has no trial of task {record.task_id!r}, repeat {record.repeat}")
        if not other.ignored:
            yield record, other.reward
