"""`perdure diagnose`: what the lost steps of a run are put down to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from perdure.core.types import JSON
    from perdure.experiment.runs import Run
    from perdure.reports.table import Table

_SHOWN = 100
"""Characters of an action in the table; `--json` shows it whole."""


def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    steps: Annotated[int, typer.Option(min=0, help="How many lost steps of each run to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print all lost steps as JSON.")] = False,
) -> None:
    """What every lost step is put down to, from the record alone: no model is asked.

    **no action**: no reply of the step could be used. **not in the prompt**: the perfect reader, asked that
    very prompt, errs too. **model erred**: the prompt held what was needed. **lost before**: earlier losses
    had left no right answer. **not reached**: the session had ended. For the warehouse and the repository.

    Examples:

    - `perdure quickstart`, then `perdure diagnose quickstart/last_3_turns quickstart/structured_state`
    - `perdure diagnose quickstart/last_3_turns --json`
    """
    from perdure.cli.console import print_tables
    from perdure.experiment.runs import load
    from perdure.reports.facts import to_json

    facts = [_facts(load(run)) for run in runs]
    if as_json:
        typer.echo(to_json(facts))
        return
    tables = [_causes(facts), *(_list(one, steps) for one in facts)]
    print_tables([table for table in tables if table is not None])
    for one in facts:
        if not any(one["lost"].values()):
            typer.echo(f"{one['folder']}: all {one['counted']:,} steps that count were answered rightly")


def _facts(run: Run) -> dict[str, JSON]:
    from dataclasses import asdict

    from perdure.reports.diagnosis import diagnose as attribute

    found = attribute(run)
    return {
        "folder": str(run.folder),
        "counted": found.counted,
        "lost": {str(cause): count for cause, count in found.counts.items()},
        "steps": [asdict(step) for step in found.lost],
    }


def _causes(facts: list[dict[str, JSON]]) -> Table | None:
    from perdure.reports.diagnosis import diagnosis_table

    return diagnosis_table([{"diagnosis": one} for one in facts], [one["folder"] for one in facts])


def _list(facts: dict[str, JSON], most: int) -> Table | None:
    from perdure.reports.table import make_table

    shown = [step for step in facts["steps"] if step["cause"] != "not reached"][:most]
    rows = [
        [
            step["task_id"],
            str(step["repeat"]),
            str(step["step"]),
            str(step["cause"]),
            _cut(step["action"]),
            _cut(step["best"]),
        ]
        for step in shown
    ]
    if not rows:
        return None
    columns = {
        "task": False,
        "repeat": True,
        "step": True,
        "cause": False,
        "what was done": False,
        "the perfect reader": False,
    }
    return make_table(f"{facts['folder']}: the first lost steps", columns, rows)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
