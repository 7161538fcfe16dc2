"""Pairs runs of the same tasks: differences with intervals and p-values that are honest about their unit.

Runs that differ in nothing but name, seed and order are repeats of one condition. Where two conditions have
two or more repeats in common (same order, same seed), the run is the unit: Student's t over the runs'
differences. Otherwise the task is the unit, which says nothing about another order or seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from perdure.core.errors import UsageError
from perdure.core.session import SessionRecord
from perdure.core.types import JSON
from perdure.experiment.config import flatten
from perdure.experiment.probes import read_probes, run_transfer
from perdure.experiment.runs import Run
from perdure.experiment.surroundings import apart_line, read_surroundings
from perdure.metrics.lifelong import (
    Treatment,
    TrialOutcome,
    area_under_curve,
    count_trials,
    counted,
    trial_outcome,
)
from perdure.metrics.statistics import (
    Interval,
    bootstrap_interval,
    holm,
    mcnemar,
    mean_interval,
    paired_p_value,
    signed_rank_p_value,
)
from perdure.metrics.summary import RunSummary
from perdure.metrics.token_kinds import TokenKind, tokens_by_kind
from perdure.metrics.tokens import TokenTotals

Metric: TypeAlias = Literal["success", "reward", "interactions", "turns"]
METRICS: tuple[Metric, ...] = get_args(Metric)

Test: TypeAlias = Literal["paired t over runs", "exact McNemar over tasks", "signed rank over tasks"]

Repeat: TypeAlias = tuple[str, int]
"""Order and seed of a run."""

_NOT_A_METHOD = ("name", "seed", "order")


@dataclass(frozen=True)
class Condition:
    """Runs of one method, by order and seed."""

    label: str
    runs: Mapping[Repeat, Run]
    differs: tuple[str, ...] = ()
    """`key=value` of what tells it from the baseline."""

    @cached_property
    def records(self) -> dict[Repeat, list[SessionRecord]]:
        """Finished sessions of each run."""
        return {repeat: list(run.records()) for repeat, run in self.runs.items()}

    @cached_property
    def summaries(self) -> list[RunSummary]:
        """Every run in a few numbers."""
        return [run.summary() for run in self.runs.values()]

    @property
    def trials(self) -> list[SessionRecord]:
        """Every session of every run."""
        return [record for records in self.records.values() for record in records]

    @property
    def counted(self) -> list[SessionRecord]:
        """Sessions that are not ignored: what rates are taken over."""
        return list(counted(self.trials))

    @property
    def outcomes(self) -> Mapping[TrialOutcome, int]:
        """How many trials ended how."""
        return count_trials(self.trials).counts

    @property
    def learning(self) -> Mapping[str, Interval]:
        """Measure of learning → mean over runs with its interval; transfer where every run has its probes."""
        values = {"area_under_curve": [area_under_curve(records) for records in self.records.values()]}
        if all(len(read_probes(run.folder)) > 1 for run in self.runs.values()):
            for run in self.runs.values():
                found = run_transfer(run)
                for name in ("forward", "forgetting", "held_out"):
                    if (value := getattr(found, name)) is not None:
                        values.setdefault(name, []).append(value)
        return {name: mean_interval(numbers) for name, numbers in values.items()}

    @property
    def tokens(self) -> Mapping[TokenKind, TokenTotals]:
        """Totals by what they were for."""
        callers: dict[str, TokenTotals] = {}
        for summary in self.summaries:
            for caller, totals in summary.tokens.items():
                callers[caller] = callers.get(caller, TokenTotals()) + totals
        return tokens_by_kind(callers)


@dataclass(frozen=True)
class Difference:
    """One condition against the baseline; positive is more."""

    condition: Condition
    interval: Interval
    bootstrap: Interval | None
    """Studentised, over runs; None where the task is the unit."""
    p_value: float
    adjusted: float
    """Holm over all conditions of the comparison."""
    test: Test
    pairs: int
    """Runs or tasks, whichever is the unit."""
    won: int
    """Trials that only this condition solved."""
    lost: int
    ignored: int
    """Pairs of trials that one of the two ignored: in none of these numbers."""
    treatments: Mapping[Treatment, float]
    """Mean difference of success over trials when ungraded ones are excluded, failed, or taken at worst."""


@dataclass(frozen=True)
class Comparison:
    """A baseline and what differs from it."""

    metric: Metric
    baseline: Condition
    differences: tuple[Difference, ...]
    apart: str = ""
    """In one line what the runs do not have in common of what they stand on, such as their root."""


def compare_runs(
    runs: Sequence[Run], *, metric: Metric = "success", baseline: Run | None = None
) -> Comparison:
    """Compare every condition with the baseline's (by default that of the first run).

    Raises UsageError for fewer than two conditions and for runs of other tasks or environment versions.
    """
    if metric not in METRICS:
        raise UsageError(f"unknown metric {metric!r}; choose one of: {', '.join(METRICS)}")
    first = baseline or runs[0]
    everything = [first, *(run for run in runs if run.folder.resolve() != first.folder.resolve())]
    _check_comparable(everything)
    control, *others = _conditions(everything)
    if not others:
        raise UsageError("these runs are repeats of one condition; give runs that differ in something else")
    found = [_difference(control, other, metric) for other in others]
    adjusted = holm([difference.p_value for difference in found])
    return Comparison(
        metric,
        control,
        tuple(replace(d, adjusted=p) for d, p in zip(found, adjusted, strict=True)),
        apart_line({str(run.folder): read_surroundings(run.folder) for run in everything}),
    )


def _check_comparable(runs: Sequence[Run]) -> None:
    first = runs[0]
    trials = {(record.task_id, record.repeat) for record in first.records()}
    for run in runs:
        where = f"{str(run.folder)!r} cannot be paired with {str(first.folder)!r}"
        for key in ("environment", "version"):
            one, other = _world(first)[key], _world(run)[key]
            if one != other:
                raise UsageError(f"{where}: {key} {other!r}, not {one!r}")
        theirs = {(record.task_id, record.repeat) for record in run.records()}
        if theirs != trials:
            task, repeat = min(theirs ^ trials)
            only = run if (task, repeat) in theirs else first
            raise UsageError(
                f"{where}: {len(theirs)} trials and {len(trials)}, not the same; "
                f"only {str(only.folder)!r} has task {task!r}, repeat {repeat}"
            )


def _world(run: Run) -> dict[str, str]:
    return {"environment": run.config.environment.name, "version": run.environment_version}


def _conditions(runs: Sequence[Run]) -> list[Condition]:
    """Runs by everything that is not name, seed or order; by order too where nothing else differs."""
    identities = [flatten(run.method) for run in runs]
    ignored = set(_NOT_A_METHOD)
    if len({_key(identity, ignored) for identity in identities}) == 1:
        ignored.discard("order")
    grouped: dict[str, dict[Repeat, Run]] = {}
    first: dict[str, dict[str, JSON]] = {}
    for run, identity in zip(runs, identities, strict=True):
        key = _key(identity, ignored)
        repeat = (run.config.order if "order" in ignored else "", run.config.seed)
        members = grouped.setdefault(key, {})
        if repeat in members:
            raise UsageError(
                f"{str(run.folder)!r} and {str(members[repeat].folder)!r} "
                "are the same condition, order and seed"
            )
        members[repeat] = run
        first.setdefault(key, identity)
    control = first[next(iter(first))]
    labels = _labels([next(iter(members.values())) for members in grouped.values()])
    return [
        Condition(label, members, _differs(first[key], control, ignored))
        for label, (key, members) in zip(labels, grouped.items(), strict=True)
    ]


def _key(identity: Mapping[str, JSON], ignored: set[str]) -> str:
    return repr(sorted((key, repr(value)) for key, value in identity.items() if key not in ignored))


def _differs(identity: Mapping[str, JSON], control: Mapping[str, JSON], ignored: set[str]) -> tuple[str, ...]:
    keys = sorted(key for key in {*identity, *control} if key not in ignored)
    return tuple(f"{key}={identity.get(key)}" for key in keys if identity.get(key) != control.get(key))


def _labels(runs: Sequence[Run]) -> list[str]:
    names = [run.config.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def _difference(control: Condition, other: Condition, metric: Metric) -> Difference:
    repeats = [repeat for repeat in control.runs if repeat in other.runs]
    if not repeats:
        raise UsageError(
            f"{control.label!r} and {other.label!r} have no order and seed in common: nothing can be paired"
        )
    everything = [_paired(control.records[repeat], other.records[repeat]) for repeat in repeats]
    pairs = [[pair for pair in run if not any(record.ignored for record in pair)] for run in everything]
    trials = [pair for run in pairs for pair in run]
    if not all(pairs):
        raise UsageError(f"{control.label!r} and {other.label!r} have no trial that neither of them ignored")
    won = sum(theirs.correct and not ours.correct for ours, theirs in trials)
    lost = sum(ours.correct and not theirs.correct for ours, theirs in trials)
    test: Test
    if len(repeats) > 1:
        values = [fmean(_value(b, metric) - _value(a, metric) for a, b in run) for run in pairs]
        test, p_value = "paired t over runs", paired_p_value(values)
    else:
        values = [_value(b, metric) - _value(a, metric) for a, b in trials]
        if metric == "success":
            test, p_value = "exact McNemar over tasks", mcnemar(won, lost)
        else:
            test, p_value = "signed rank over tasks", signed_rank_p_value(values)
    return Difference(
        other,
        mean_interval(values),
        bootstrap_interval(values) if len(repeats) > 1 else None,
        p_value,
        p_value,
        test,
        len(values),
        won,
        lost,
        sum(map(len, everything)) - len(trials),
        {treatment: _treated(trials, treatment) for treatment in get_args(Treatment)},
    )


def _paired(
    ours: Sequence[SessionRecord], theirs: Sequence[SessionRecord]
) -> list[tuple[SessionRecord, SessionRecord]]:
    by_trial = {(record.task_id, record.repeat): record for record in theirs}
    return [(record, by_trial[record.task_id, record.repeat]) for record in ours]


def _value(record: SessionRecord, metric: Metric) -> float:
    return float(record.correct) if metric == "success" else float(getattr(record, metric))


def _treated(trials: Sequence[tuple[SessionRecord, SessionRecord]], treatment: Treatment) -> float:
    """Mean difference of success. `worst` counts ungraded trials against the condition, for the baseline."""
    differences = []
    for ours, theirs in trials:
        open_ours, open_theirs = (trial_outcome(record) == "ungraded" for record in (ours, theirs))
        if treatment == "excluded" and (open_ours or open_theirs):
            continue
        base = 1.0 if treatment == "worst" and open_ours else float(ours.correct)
        differences.append(float(theirs.correct) - base)
    return fmean(differences) if differences else 0.0
