"""A comparison as facts and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from perdure.core.types import JSON
from perdure.experiment.compare import Comparison, Condition, Difference
from perdure.experiment.costs import run_cost
from perdure.metrics.statistics import Interval
from perdure.metrics.success import wilson_interval
from perdure.reports.fairness import fairness_lines
from perdure.reports.replies import ALWAYS, REPLY_COLUMNS, reply_cells, reply_facts
from perdure.reports.run_tables import cost_cell, fraction
from perdure.reports.table import Table, make_table


def comparison_facts(comparison: Comparison) -> dict[str, JSON]:
    """Everything that the tables show, and the studentised bootstrap, as JSON."""
    return {
        "metric": comparison.metric,
        "apart": comparison.apart,
        "unequal": fairness_lines(comparison),
        "baseline": _condition_facts(comparison.baseline),
        "differences": [
            {
                **_condition_facts(difference.condition),
                "difference": _interval_facts(difference.interval),
                "bootstrap": _interval_facts(difference.bootstrap) if difference.bootstrap else None,
                "p": difference.p_value,
                "p_adjusted": difference.adjusted,
                "test": difference.test,
                "pairs": difference.pairs,
                "won": difference.won,
                "lost": difference.lost,
                "ignored": difference.ignored,
                "success_difference": dict(difference.treatments),
            }
            for difference in comparison.differences
        ],
    }


def comparison_table(comparison: Comparison) -> Table:
    """One row a condition, the baseline first."""
    columns = {
        "condition": False,
        "runs": True,
        "success [95%]": True,
        f"{comparison.metric} difference [95%]": True,
        "pairs": True,
        "won/lost": True,
        "p": True,
        "p (Holm)": True,
        "test": False,
        **REPLY_COLUMNS,
        "cost $": True,
    }
    rows = [[*_row(comparison.baseline), "baseline", *[""] * 5, *_last_cells(comparison.baseline)]]
    rows += [
        [*_row(difference.condition), *_difference_cells(difference)] for difference in comparison.differences
    ]
    return make_table("Paired comparison", columns, rows, drop_empty=True, always=ALWAYS)


def ungraded_table(comparison: Comparison) -> Table:
    """How the trials ended, and the difference of success under each treatment of the ungraded ones."""
    columns = {"condition": False, "outcomes": False, "excluded": True, "failed": True, "worst case": True}
    rows = [[comparison.baseline.label, _outcomes_cell(comparison.baseline), "", "", ""]]
    rows += [
        [d.condition.label, _outcomes_cell(d.condition), *_treatment_cells(d)] for d in comparison.differences
    ]
    return make_table("Outcomes, and the success difference with ungraded trials", columns, rows)


def learning_table(comparison: Comparison) -> Table:
    """Area under the online curve and, where runs were probed, transfer: means over runs."""
    conditions = (comparison.baseline, *(d.condition for d in comparison.differences))
    names = list(dict.fromkeys(name for condition in conditions for name in condition.learning))
    rows = [
        [condition.label, *(interval_cell(found[name]) if name in found else "–" for name in names)]
        for condition in conditions
        for found in [condition.learning]
    ]
    columns = {"condition": False, **{name.replace("_", " "): True for name in names}}
    return make_table("Learning, means over runs [95%]", columns, rows)


def tokens_table(comparison: Comparison) -> Table:
    """Tokens of all runs of a condition by what they were for."""
    columns = {"condition": False, "tokens for": False, "prompt": True, "cached": True, "completion": True}
    rows = []
    for condition in (comparison.baseline, *(d.condition for d in comparison.differences)):
        for kind, totals in condition.tokens.items():
            numbers = (totals.prompt, totals.cached, totals.completion)
            rows.append([condition.label, kind, *(f"{number:,}" for number in numbers)])
    return make_table("Tokens", columns, rows)


def _outcomes_cell(condition: Condition) -> str:
    counts = sorted(condition.outcomes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{outcome} {count}" for outcome, count in counts)


def _row(condition: Condition) -> list[str]:
    records = condition.counted
    correct = sum(record.correct for record in records)
    low, high = wilson_interval(correct, len(records))
    return [
        condition.label,
        str(len(condition.runs)),
        f"{fraction(correct, len(records))} [{low:.2f}–{high:.2f}]",
    ]


def _difference_cells(difference: Difference) -> list[str]:
    return [
        interval_cell(difference.interval),
        str(difference.pairs),
        f"{difference.won}/{difference.lost}",
        f"{difference.p_value:.4f}",
        f"{difference.adjusted:.4f}",
        difference.test,
        *_last_cells(difference.condition),
    ]


def _last_cells(condition: Condition) -> list[str]:
    return [*reply_cells(reply_facts(condition.summaries)), cost_cell(_cost(condition))]


def _treatment_cells(difference: Difference) -> list[str]:
    return [f"{difference.treatments[kind]:+.3f}" for kind in ("excluded", "failed", "worst")]


def interval_cell(interval: Interval) -> str:
    """`+0.120 [+0.050, +0.190]`; `?` for an end that the data cannot give."""
    ends = [f"{end:+.3f}" if isfinite(end) else "?" for end in (interval.low, interval.high)]
    return f"{interval.estimate:+.3f} [{', '.join(ends)}]"


def _interval_facts(interval: Interval) -> Mapping[str, JSON]:
    ends = {"low": interval.low, "high": interval.high}
    return {"estimate": interval.estimate, **{k: v if isfinite(v) else None for k, v in ends.items()}}


def _cost(condition: Condition) -> float | None:
    """US dollars of all runs; None where the price of one is not known."""
    costs = [run_cost(run.config, run.reader.charged()) for run in condition.runs.values()]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _condition_facts(condition: Condition) -> dict[str, JSON]:
    records = condition.trials
    return {
        "condition": condition.label,
        "differs": list(condition.differs),
        "runs": [str(run.folder) for run in condition.runs.values()],
        "trials": len(records),
        "counted": len(condition.counted),
        "correct": sum(record.correct for record in records),
        "outcomes": dict(condition.outcomes),
        **reply_facts(condition.summaries),
        "learning": {name: _interval_facts(found) for name, found in condition.learning.items()},
        "tokens": {kind: vars(totals) for kind, totals in condition.tokens.items()},
        "cost": _cost(condition),
    }


def differs_lines(comparison: Comparison) -> list[str]:
    """`replay: callbacks.0.k=4` for every condition."""
    return [f"{d.condition.label}: {', '.join(d.condition.differs)}" for d in comparison.differences]


def warning_lines(comparison: Comparison) -> list[str]:
    """What stands between the numbers and the methods: surroundings, rules, calls, ignored trials."""
    lines = [f"warning: {comparison.apart}"] if comparison.apart else []
    return (
        lines
        + fairness_lines(comparison)
        + [
            f"ignored: {d.ignored} pairs of trials with {d.condition.label}, in no number but the outcomes"
            for d in comparison.differences
            if d.ignored
        ]
    )
