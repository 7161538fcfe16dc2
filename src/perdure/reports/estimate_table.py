"""An estimate as facts and as a table."""

from __future__ import annotations

from dataclasses import asdict

from perdure.core.types import JSON
from perdure.experiment.estimate import Estimate
from perdure.reports.table import Table, make_table


def estimate_facts(estimate: Estimate) -> dict[str, JSON]:
    """The estimate as JSON."""
    return asdict(estimate)


def estimate_table(estimate: Estimate) -> Table:
    """One row a fact, least and most side by side; nothing was asked of a model."""
    rows = [
        ["sessions", f"{estimate.sessions:,}", f"{estimate.sessions:,}"],
        ["calls", f"{estimate.sessions if estimate.calls_at_most else 0:,}", f"{estimate.calls_at_most:,}"],
        ["prompt tokens", f"{estimate.first_prompt_tokens:,}", f"{estimate.prompt_tokens_at_most:,}"],
        ["completion tokens", "0", f"{estimate.completion_tokens_at_most:,}"],
        ["cost $", _dollars(estimate.cost_at_least), _dollars(estimate.cost_at_most)],
    ]
    window = estimate.context_window
    assumed = (
        f"estimated; at most: replies of {estimate.reply_tokens}, observations of "
        f"{estimate.observation_tokens} tokens" + (f", prompts of {window:,}" if window else "")
        if estimate.calls_at_most
        else "this agent asks no model"
    )
    columns = {"": False, "first call of each session": True, "at most": True}
    return make_table(f"Dry run ({assumed})", columns, rows)


def _dollars(cost: float | None) -> str:
    return "no price configured" if cost is None else f"{cost:.4f}"
