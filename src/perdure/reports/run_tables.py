"""The tables of `run` and `report`, made from the facts of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from perdure.core.types import JSON
from perdure.reports.legend import letters
from perdure.reports.replies import ALWAYS, REPLY_COLUMNS, reply_cells
from perdure.reports.table import Table, make_table

Facts = Mapping[str, JSON]

_REASON_SHOWN = 120
"""Characters of a finish reason; `--json` shows it whole."""

_REASONS_SHOWN = 400
"""Characters of the reasons why sessions were ignored."""

_COLUMNS = {
    "run": False,
    "environment": False,
    "agent": False,
    "sessions": True,
    "success [95%]": True,
    "floor–ceiling": True,
    "reward": True,
    "steps": True,
    **REPLY_COLUMNS,
    "prompt tokens": True,
    "completion tokens": True,
    "cached": True,
    "seconds": True,
    "cost $": True,
}


def comparison_table(runs: Sequence[Facts]) -> Table:
    """One row a run; a run that is not through says so."""
    rows = [_comparison_row(name, facts) for name, facts in zip(labels(runs), runs, strict=True)]
    return make_table("Runs", _COLUMNS, rows, drop_empty=True, always=ALWAYS)


def statuses_table(runs: Sequence[Facts]) -> Table:
    """How the sessions of each run ended, with the commonest reason of what failed."""
    rows = [
        [name, statuses_cell(facts), ignored_cell(facts)]
        for name, facts in zip(labels(runs), runs, strict=True)
    ]
    columns = {"run": False, "statuses": False, "ignored, in no rate": False}
    return make_table("How sessions ended", columns, rows, drop_empty=True)


def result_table(facts: Facts, floors: Mapping[str, Facts]) -> Table:
    """One run above the environment's own agents on the same tasks."""
    columns = {
        "agent": False,
        "success [95%]": True,
        "reward": True,
        "steps": True,
        **REPLY_COLUMNS,
        "prompt tokens": True,
        "completion tokens": True,
        "seconds": True,
        "cost $": True,
    }
    rows = [_result_row(agent_label(facts), facts)]
    rows += [
        _result_row(f"({_FLOOR_LABELS[kind]})", floor)
        for kind, floor in floors.items()
        if kind != facts["agent"]
    ]
    title = f"{facts['environment']}: {facts['name']}"
    return make_table(title, columns, rows, drop_empty=True, always=ALWAYS)


_FLOOR_LABELS = {"oracle": "ceiling: oracle", "do_nothing": "floor: do nothing"}


def skills_table(runs: Sequence[Facts]) -> Table | None:
    """Correct sessions by skill, one column a run; skills that no session needs are left out."""
    skills: dict[str, list[str]] = {}
    for i, facts in enumerate(runs):
        for skill, counts in skill_counts(facts["metrics"]).items():
            skills.setdefault(skill, ["–"] * len(runs))[i] = fraction(*counts)
    if not skills:
        return None
    columns = {"skill": False, **dict.fromkeys(labels(runs), True)}
    rows = [[skill, *skills[skill]] for skill in sorted(skills)]
    return make_table("Success by skill", columns, rows, turns=False)


def metrics_table(runs: Sequence[Facts]) -> Table | None:
    """The environments' metrics that no other table shows, one column a run."""
    rows: dict[str, list[str]] = {}
    for i, facts in enumerate(runs):
        for key, value in facts["metrics"].items():
            if not key.startswith(("skill.", "overall.")):
                rows.setdefault(key, ["–"] * len(runs))[i] = f"{value:.4g}"
    if not rows:
        return None
    columns = {"metric": False, **dict.fromkeys(labels(runs), True)}
    body = [[key, *rows[key]] for key in sorted(rows)]
    return make_table("Metrics of the environment", columns, body, turns=False)


def skill_counts(metrics: Mapping[str, float]) -> dict[str, tuple[int, int]]:
    """`skill -> (correct, sessions)` out of flat metrics, where there are sessions."""
    counts = {}
    for key, value in metrics.items():
        if key.startswith("skill.") and key.endswith(".count") and value:
            skill = key.removeprefix("skill.").removesuffix(".count")
            counts[skill] = int(metrics[f"skill.{skill}.correct_count"]), int(value)
    return counts


def labels(runs: Sequence[Facts]) -> list[str]:
    """What columns are called: the name of a single run, the letters of several."""
    return letters(len(runs)) if len(runs) > 1 else [str(facts["name"]) for facts in runs]


def agent_label(facts: Facts) -> str:
    """Who acted: `oracle`, or model and strategy."""
    if facts["agent"] != "model":
        return str(facts["agent"])
    return f"{facts['model']} / {facts['strategy']}"


def success_cell(success: Mapping[str, JSON]) -> str:
    """`7/20 0.35 [0.18–0.57]`."""
    if not success["of"]:
        return "–"
    low, high = success["low"], success["high"]
    return f"{fraction(success['correct'], success['of'])} [{low:.2f}–{high:.2f}]"


def fraction(part: int, whole: int) -> str:
    """`7/20 0.35`."""
    return f"{part}/{whole} {part / whole:.2f}" if whole else "0/0"


def statuses_cell(facts: Facts) -> str:
    """`completed 18, agent_unknown_error 2 (the server hung up)`, the most frequent first."""
    ordered = sorted(facts["statuses"].items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}{_reason(facts, name)}" for name, count in ordered)


def _reason(facts: Facts, status: str) -> str:
    """The commonest reason, in one line of bounded length."""
    reason = " ".join(facts["reasons"].get(status, "").split())
    return f" ({shorten(reason, _REASON_SHOWN, placeholder=' …')})" if reason else ""


def statuses_line(facts: Facts) -> str:
    """How sessions ended, and the success of those that no limit ended, where a limit ended some."""
    line = f"statuses: {statuses_cell(facts)}"
    unlimited = facts["success_without_limit_reached"]
    if unlimited["of"] < facts["success"]["of"]:
        line += f"; success without limit-reached sessions: {success_cell(unlimited)}"
    return line


def ignored_line(facts: Facts) -> str:
    """`ignored, in no rate: 3 of 50 sessions (no awk in root host 2, no vi in root host 1)`, or nothing."""
    cell = ignored_cell(facts)
    return f"ignored, in no rate: {cell}" if cell else ""


def ignored_cell(facts: Facts) -> str:
    """`3 of 50 sessions (no awk in root host 2, no vi in root host 1)`, or nothing."""
    ignored = facts["ignored"]
    if not ignored:
        return ""
    ordered = sorted(ignored.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{reason or 'no reason given'} {count}" for reason, count in ordered)
    reasons = shorten(told, _REASONS_SHOWN, placeholder=" …")
    return f"{sum(ignored.values())} of {facts['sessions']} sessions ({reasons})"


def cost_cell(cost: float | None) -> str:
    """US dollars, or a dash where no price is known."""
    return "–" if cost is None else f"{cost:.4f}"


def _comparison_row(name: str, facts: Facts) -> list[str]:
    tokens = facts["tokens"]
    return [
        name,
        facts["environment"],
        agent_label(facts),
        f"{facts['sessions']}/{facts['planned']}" + ("" if facts["finished"] else " unfinished"),
        success_cell(facts["success"]),
        _floor_cell(facts["floors"]),
        f"{facts['reward']:.2f}",
        f"{facts['steps']:,}",
        *reply_cells(facts),
        f"{tokens['prompt']:,}",
        f"{tokens['completion']:,}",
        f"{tokens['cached']:,}",
        f"{facts['seconds']:.1f}",
        cost_cell(facts["cost"]),
    ]


def _floor_cell(floors: Mapping[str, Facts] | None) -> str:
    ends = [(floors or {}).get(kind) for kind in ("do_nothing", "oracle")]
    rates = [None if end is None else end["success"]["rate"] for end in ends]
    return "–".join("?" if rate is None else f"{rate:.2f}" for rate in rates)


def _result_row(label: str, facts: Facts) -> list[str]:
    tokens = facts["tokens"]
    return [
        label,
        success_cell(facts["success"]),
        f"{facts['reward']:.2f}",
        f"{facts['steps']:,}",
        *reply_cells(facts),
        f"{tokens['prompt']:,}",
        f"{tokens['completion']:,}",
        f"{facts['seconds']:.1f}",
        cost_cell(facts["cost"]),
    ]
