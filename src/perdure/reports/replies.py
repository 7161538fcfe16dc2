"""What became of replies, as every table shows it: calls a step, malformed ones, fallbacks, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.types import JSON
from perdure.metrics.summary import RunSummary

REPLY_COLUMNS = {
    "calls/step": True,
    "malformed": True,
    "fallbacks": True,
    "cut": True,
    "tolerated": True,
    "state updates": True,
}
"""Columns for `make_table`, in the order of `reply_cells`."""

ALWAYS = ("calls/step", "malformed", "fallbacks", "state updates")
"""Those in which a zero says something: a state that never changed is none."""


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
        "replies": sum(one.turns for one in found),
        "cut": sum(one.cut for one in found),
        "tolerated": sum(one.tolerated for one in found),
        "state_updates": None
        if all(one.state_updates is None for one in found)
        else sum(one.state_updates or 0 for one in found),
    }


def reply_cells(facts: Mapping[str, JSON]) -> list[str]:
    """Cells of one row; dashes where no model was asked."""
    rate = facts["calls_per_step"]
    if rate is None and not facts["malformed"]:
        return ["–"] * len(REPLY_COLUMNS)
    updates = facts["state_updates"]
    return [
        "–" if rate is None else f"{rate:.2f}",
        *(f"{facts[name]:,}" for name in ("malformed", "fallbacks", "cut", "tolerated")),
        "–" if updates is None else f"{updates:,}",
    ]


def reply_notes(facts: Mapping[str, JSON]) -> list[str]:
    """What a reader of the numbers must know of the replies behind them."""
    notes, replies = [], facts["replies"]
    if replies and 2 * facts["cut"] > replies:
        notes.append(
            f"warning: {facts['cut']:,} of {replies:,} replies were cut because they became too long; "
            "raise agent.sampling.max_tokens"
        )
    if replies and 2 * facts["malformed"] > replies:
        notes.append(
            f"warning: {facts['malformed']:,} of {replies:,} replies held no action that can be used"
        )
    if facts["state_updates"] == 0 and facts["steps"]:
        notes.append(
            f"the state never changed in {facts['steps']:,} steps: {facts['strategy']} had nothing but what "
            "stands beside it"
        )
    return notes
