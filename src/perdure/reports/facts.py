"""Everything a report says about one run, as JSON: tables show these facts and no others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from perdure.core.errors import UsageError
from perdure.core.session import SessionRecord
from perdure.core.types import JSON, SessionStatus
from perdure.experiment.config import ModelSection, RunConfig
from perdure.experiment.costs import run_cost
from perdure.experiment.registry import load_plugin
from perdure.experiment.rules import rules_of
from perdure.experiment.runs import Run
from perdure.metrics.success import wilson_interval
from perdure.metrics.summary import RunSummary, summarise
from perdure.reports.diagnosis import diagnosis_facts
from perdure.reports.floors import read_floors
from perdure.reports.patches import has_patches, patch_facts
from perdure.reports.replies import reply_facts

_FAILURES = frozenset(
    {
        SessionStatus.AGENT_VALIDATION_FAILED,
        SessionStatus.AGENT_CONTEXT_LIMIT,
        SessionStatus.AGENT_OUT_OF_MEMORY,
        SessionStatus.AGENT_UNKNOWN_ERROR,
        SessionStatus.TASK_ENVIRONMENT_ERROR,
        SessionStatus.TASK_UNKNOWN_ERROR,
    }
)


def run_facts(run: Run) -> dict[str, JSON]:
    """One run: who acted, how it went, what it took, how the environment's own agents do."""
    config = run.config
    unfinished = len(run.sessions) < run.planned
    records, patched = [], []
    for place, (record, trace) in enumerate(run.reader.results()):  # a long run's are read once
        records.append(record)
        if has_patches(trace):
            patched.append(place)
    open_tasks = (task.ledger_line() for task in run.reader.open_tasks())
    summary = summarise(records, run.reader.ledger(), open_tasks)
    return {
        "folder": str(run.folder),
        "name": config.name,
        "environment": config.environment.name,
        "agent": config.agent.kind,
        "model": model_label(config),
        "strategy": config.agent.strategy.name if config.agent.kind == "model" else None,
        "rules": rules_told(run),
        "planned": run.planned,
        "reasons": commonest_reasons(records),
        "finished": not unfinished,
        **summary_facts(summary, run_cost(config, run.reader.charged())),
        "damaged_end": run.reader.committed.damaged_end,
        "patches": patch_facts(run, patched),
        "diagnosis": diagnosis_facts(run),
        "floors": read_floors(run.folder),
        # Metrics of an earlier, shorter schedule would describe other sessions.
        "metrics": {} if unfinished else dict(run.metrics),
    }


def summary_facts(summary: RunSummary, cost: float | None = None) -> dict[str, JSON]:
    """Counts and rates of finished sessions; tokens are totals, seconds wall-clock, cost US dollars.

    `ignored` counts the sessions that are in no rate, by reason.
    """
    unlimited = summary.counted - summary.limited
    tokens = summary.total_tokens
    return {
        "sessions": summary.sessions,
        "success": _rate(summary.correct, summary.counted),
        "success_without_limit_reached": _rate(summary.correct_unlimited, unlimited),
        "reward": summary.reward,
        "steps": summary.interactions,
        **reply_facts([summary]),
        "ignored": dict(summary.ignored),
        "statuses": dict(summary.statuses),
        "outcomes": dict(summary.outcomes),
        "tokens": {
            "calls": tokens.calls,
            "prompt": tokens.prompt,
            "completion": tokens.completion,
            "cached": tokens.cached,
            "reasoning": tokens.reasoning,
            "unanswered": tokens.unanswered,
        },
        "tokens_by_caller": {
            caller: {"calls": totals.calls, "prompt": totals.prompt, "completion": totals.completion}
            for caller, totals in summary.tokens.items()
        },
        "seconds": round(summary.seconds, 3),
        "cost": cost,
        "resumes": summary.resumes,
        "restarts": summary.restarts,
        "divergences": summary.divergences,
        "unfinished": summary.unfinished,
        "unaccounted": summary.unaccounted,
        "damaged": summary.damaged,
    }


def rules_told(run: Run) -> str | None:
    """What the agent was allowed; None where nobody was asked or the strategy is not at hand any more."""
    config = run.own_config()
    if config.agent.kind != "model":
        return None
    try:
        strategy = load_plugin("strategy", config.agent.strategy.name, base=run.base).target
    except UsageError:
        return None
    return rules_of(config, strategy).told


def commonest_reasons(records: Iterable[SessionRecord]) -> dict[str, str]:
    """Why sessions failed: `status -> its most frequent finish reason`, for those of an error."""
    reasons: dict[str, Counter[str]] = {}
    for record in records:
        if record.status in _FAILURES and record.finish_reason:
            reasons.setdefault(str(record.status), Counter())[record.finish_reason] += 1
    return {status: counts.most_common(1)[0][0] for status, counts in reasons.items()}


def model_label(config: RunConfig) -> str | None:
    """The agent's model in a few characters: its provider and what the provider serves."""
    if config.agent.kind != "model":
        return None
    section = config.models.get(config.agent.model, ModelSection(provider=config.agent.model))
    served = section.parameters.get("model") or section.parameters.get("path")
    return f"{section.provider}:{Path(str(served)).name}" if served else section.provider


def to_json(facts: JSON) -> str:
    """Readable JSON; never holds a character that an output could refuse."""
    return json.dumps(facts, indent=2)


def _rate(correct: int, trials: int) -> dict[str, JSON]:
    low, high = wilson_interval(correct, trials)
    rate = correct / trials if trials else None
    return {"correct": correct, "of": trials, "rate": rate, "low": low, "high": high}
