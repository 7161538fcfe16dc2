"""Whether the arms of a comparison were allowed the same, and asked as often."""

from __future__ import annotations

from perdure.experiment.compare import Comparison, Condition
from perdure.reports.facts import rules_told
from perdure.reports.replies import reply_facts

TOLERATED_RATIO = 1.1
"""Calls a step of one arm to those of the other, up to which nothing is said."""


def fairness_lines(comparison: Comparison) -> list[str]:
    """A warning for each arm that had other rules than the baseline, and for each that asked more or less."""
    lines = []
    baseline = comparison.baseline
    for arm in (difference.condition for difference in comparison.differences):
        ours, theirs = _rules(baseline), _rules(arm)
        if ours and theirs and ours != theirs:
            lines.append(
                f"warning: {baseline.label} and {arm.label} were not allowed the same: "
                f"{' | '.join(ours)}, against {' | '.join(theirs)}"
            )
        calls = _calls_a_step(baseline), _calls_a_step(arm)
        if calls[0] and calls[1] and max(calls) > TOLERATED_RATIO * min(calls):
            lines.append(
                f"warning: {baseline.label} made {calls[0]:.2f} calls a step, {arm.label} {calls[1]:.2f}"
            )
    return lines


def _rules(condition: Condition) -> list[str]:
    """What the runs of an arm were allowed, each wording once."""
    told = (rules_told(run) for run in condition.runs.values())
    return list(dict.fromkeys(rules for rules in told if rules))


def _calls_a_step(condition: Condition) -> float:
    return float(reply_facts(condition.summaries)["calls_per_step"] or 0)
