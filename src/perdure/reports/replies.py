"""What became of replies, as every table shows it: calls a step, malformed replies, fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.types import JSON
from perdure.metrics.summary import RunSummary

REPLY_COLUMNS = {"calls/step": True, "malformed": True, "fallbacks": True}
"""Columns for `make_table`, in the order of `reply_cells`."""


def reply_facts(summaries: Iterable[RunSummary]) -> dict[str, JSON]:
    """Over all sessions of some runs.

    `calls_per_step`: model calls by anybody, retries and attempts that were given up included, for one action
    that reached the environment; None without a call or a step.
    """
    found = list(summaries)
    calls, steps = sum(one.calls for one in found), sum(one.interactions for one in found)
    return {
        "calls_per_step": calls / steps if calls and steps else None,
        "malformed": sum(one.malformed for one in found),
        "fallbacks": sum(one.fallbacks for one in found),
    }


def reply_cells(facts: Mapping[str, JSON]) -> list[str]:
    """Cells of one row; dashes where no model was asked."""
    rate = facts["calls_per_step"]
    if rate is None and not facts["malformed"]:
        return ["–"] * len(REPLY_COLUMNS)
    return ["–" if rate is None else f"{rate:.2f}", f"{facts['malformed']:,}", f"{facts['fallbacks']:,}"]
