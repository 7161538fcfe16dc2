"""The published numbers of SKILL.state (arXiv 2608.26263), and ours beside them.

`paper_numbers.csv` holds tables 1 to 10 and the error shares of section 5.7. The paper's total tokens are not
its steps times its mean prompt (the quotient is 0.27 to 0.40 throughout), so ratios between runtimes are what
can be compared, not totals.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from perdure.core.types import JSON
from perdure.reports.table import Table, make_table

Facts = Mapping[str, JSON]

_RUNTIMES = {
    "full_history": "ReAct",
    "memory": "Memory",
    "stateful": "Stateful",
    "structured_state": "SKILL.state",
}
_CONTROLS = {
    "sliding_window": "Sliding window",
    "capped_summary": "Summary-capped",
    "prompt_compression": "ReAct+LLMLingua",
}
_MODELS = {"gemini": "Gemini-3-Flash", "gemma": "Gemma-4-31B-it", "qwen": "Qwen-3-8B-it"}
_DEFAULT_HORIZON = 100


@dataclass(frozen=True)
class PaperCell:
    """One published number; `value` may be a range such as `5-8`, `sd` is the sample standard deviation."""

    table: str
    benchmark: str
    model: str
    condition: str
    runtime: str
    metric: str
    value: str
    sd: str


@cache
def paper_cells() -> tuple[PaperCell, ...]:
    """Every published number."""
    text = files("perdure.reports").joinpath("paper_numbers.csv").read_text("utf-8")
    return tuple(PaperCell(**row) for row in csv.DictReader(text.splitlines()))


def published(benchmark: str, condition: str, runtime: str, metric: str, *, model: str) -> str | None:
    """A published number as it is printed. `condition` may be the beginning of the paper's."""
    for cell in paper_cells():
        if (cell.benchmark, cell.metric, cell.model) != (benchmark, metric, model):
            continue
        if _same_condition(cell.condition, condition) and runtime in cell.runtime.split("/"):
            return cell.value
    return None


def paper_table(runs: Sequence[Facts]) -> Table | None:
    """Ours beside the paper's for every run that has a counterpart there; None where none has.

    `tokens ×` is total tokens over those of structured_state under the same condition.
    """
    rows = [row for facts in runs if not facts["error"] and (row := _row(facts, runs)) is not None]
    return make_table("Beside the paper", _COLUMNS, rows, drop_empty=True) if rows else None


_COLUMNS = {
    "run": False,
    "the paper's row": False,
    "score": True,
    "paper": True,
    "prompt mean": True,
    "paper ": True,
    "tokens ×": True,
    "paper  ": True,
    "recovery steps": True,
    "paper   ": True,
}


def _row(facts: Facts, runs: Sequence[Facts]) -> list[str] | None:
    condition, runtime = condition_of(facts), runtime_of(facts)
    benchmark, model = facts["environment"], paper_model(facts["model"])
    cells = {
        metric: published(benchmark, condition, runtime, metric, model=model)
        for metric in ("score", "avg_prompt_tokens", "total_tokens", "recovery_steps")
    }
    if not any(cells.values()):
        return None
    ours, theirs = _ratio(facts, runs), _published_ratio(benchmark, condition, model, cells["total_tokens"])
    recovery = facts["recovery_steps"] if cells["recovery_steps"] else None
    return [
        facts["run"],
        f"{model}, {condition}, {runtime}",
        _shown(facts["score"] if cells["score"] else None, ".2f"),
        cells["score"] or "–",
        _shown(facts["prompt_mean"] if cells["avg_prompt_tokens"] else None, ",.0f"),
        _shown(float(cells["avg_prompt_tokens"]) if cells["avg_prompt_tokens"] else None, ",.0f"),
        _shown(ours if cells["total_tokens"] else None, ".1f"),
        _shown(theirs, ".1f"),
        _shown(recovery, ".1f"),
        cells["recovery_steps"] or "–",
    ]


def condition_of(facts: Facts) -> str:
    """The paper's name for what a run was put through, or the beginning of it."""
    parameters = facts["parameters"]
    horizon, noise = parameters.get("horizon", _DEFAULT_HORIZON), parameters.get("noise", 0)
    if (drift := parameters.get("drift", "none")) != "none":
        return str(drift)
    if noise:
        return f"T={horizon} noise={noise}/turn"
    return f"T={horizon} budget~1800" if facts["strategy"] in _CONTROLS else f"T={horizon}"


def runtime_of(facts: Facts) -> str:
    """The paper's name for a strategy."""
    strategy: str = facts["strategy"]
    return {**_RUNTIMES, **_CONTROLS}.get(strategy, strategy)


def paper_model(served: str | None) -> str:
    """The paper's model that ours is one of; its main model for any other."""
    name = (served or "").lower()
    return next((paper for word, paper in _MODELS.items() if word in name), "Gemini-3-Flash")


def _same_condition(theirs: str, ours: str) -> bool:
    """Drifts have a letter and a name in the paper, everything else is told in full."""
    return theirs == ours or (not ours.startswith("T=") and theirs.startswith(f"{ours} "))


def _ratio(facts: Facts, runs: Sequence[Facts]) -> float | None:
    """Our tokens over those of structured_state on the same tasks with the same model."""
    for other in runs:
        if other["error"] or other["strategy"] != "structured_state":
            continue
        if all(other[key] == facts[key] for key in ("environment", "parameters", "model")):
            own: float = facts["tokens"]["total"]
            return own / other["tokens"]["total"] if other["tokens"]["total"] else None
    return None


def _published_ratio(benchmark: str, condition: str, model: str, total: str | None) -> float | None:
    state = published(benchmark, condition, "SKILL.state", "total_tokens", model=model)
    return float(total) / float(state) if total and state else None


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
