"""What a sweep came to: facts of every run, and the one table of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from perdure.core.types import JSON
from perdure.experiment.runs import Run, load
from perdure.experiment.sweep import RunOutcome
from perdure.metrics.growth import Fit, cumulative_exponent, slope, step_series
from perdure.metrics.lifelong import counted
from perdure.reports.facts import model_label
from perdure.reports.replies import ALWAYS, REPLY_COLUMNS, reply_cells, reply_facts
from perdure.reports.table import Table, make_table

Facts = Mapping[str, JSON]


def sweep_facts(outcomes: Sequence[RunOutcome]) -> list[dict[str, JSON]]:
    """One entry a run; a run that failed has its error and nothing else."""
    return [
        {"run": outcome.run.label, "folder": str(outcome.run.folder), "error": outcome.error or None}
        | ({} if outcome.error else growth_facts(load(outcome.run.folder)))
        for outcome in outcomes
    ]


def growth_facts(run: Run) -> dict[str, JSON]:
    """Score (mean reward, sample SD over sessions), prompts of the agent and of votes, tokens of all, growth.

    `sessions` are those that are not ignored; `ignored` counts the others by reason.
    """
    rewards = [record.reward for record in counted(run.records())]
    summary = run.summary()
    series = [step_series(line) for line in run.reader.ledger()]
    prompts = [tokens for session in series for tokens in (*session.prompts, *session.votes)]
    total = summary.total_tokens
    return {
        "environment": run.config.environment.name,
        "parameters": dict(run.config.environment.parameters),
        "strategy": run.config.agent.strategy.name,
        "strategy_parameters": dict(run.config.agent.strategy.parameters),
        "model": model_label(run.config),
        "sessions": len(rewards),
        **reply_facts([summary]),
        "ignored": dict(summary.ignored),
        "score": mean(rewards) if rewards else None,
        "score_sd": stdev(rewards) if len(rewards) > 1 else None,
        "prompt_mean": mean(prompts) if prompts else None,
        "prompt_max": max(prompts, default=None),
        "tokens": {
            "total": total.prompt + total.completion,
            "prompt": total.prompt,
            "completion": total.completion,
            "cached": total.cached,
        },
        "prompt_growth": _fit_facts(slope([session.prompts for session in series])),
        "growth_exponent": _fit_facts(cumulative_exponent([session.tokens for session in series])),
        "recovery_steps": run.metrics.get("overall.mean_recovery_steps"),
        "seconds": summary.seconds,
    }


_COLUMNS = {
    "run": False,
    "score": True,
    "ignored": True,
    **REPLY_COLUMNS,
    "prompt mean": True,
    "prompt max": True,
    "total tokens": True,
    "prompt": True,
    "completion": True,
    "cached": True,
    "growth exponent [95%]": True,
    "recovery steps": True,
    "seconds": True,
}


def sweep_table(name: str, facts: Sequence[Facts]) -> Table:
    """One row a run. Tokens are totals over sessions and callers; the exponent is b of total ∝ steps^b."""
    rows = [_row(entry) for entry in facts]
    return make_table(f"Sweep {name}", _COLUMNS, rows, drop_empty=True, always=ALWAYS)


def _row(facts: Facts) -> list[str]:
    if facts["error"]:
        return [facts["run"], "failed", *["–"] * (len(_COLUMNS) - 2)]
    tokens = facts["tokens"]
    return [
        facts["run"],
        _score(facts["score"], facts["score_sd"]),
        _number(sum(facts["ignored"].values())),
        *reply_cells(facts),
        _number(facts["prompt_mean"]),
        _number(facts["prompt_max"]),
        _number(tokens["total"]),
        _number(tokens["prompt"]),
        _number(tokens["completion"]),
        _number(tokens["cached"]),
        _exponent(facts["growth_exponent"]),
        "–" if facts["recovery_steps"] is None else f"{facts['recovery_steps']:.1f}",
        f"{facts['seconds']:.1f}",
    ]


def _fit_facts(fit: Fit | None) -> JSON:
    return None if fit is None else {"value": fit.value, "low": fit.low, "high": fit.high}


def _score(score: float | None, deviation: float | None) -> str:
    if score is None:
        return "–"
    return f"{score:.2f}" if deviation is None else f"{score:.2f} ± {deviation:.2f}"


def _number(value: float | None) -> str:
    return f"{value:,.0f}" if value else "–"


def _exponent(fit: Facts | None) -> str:
    return "–" if fit is None else f"{fit['value']:.2f} [{fit['low']:.2f}–{fit['high']:.2f}]"
