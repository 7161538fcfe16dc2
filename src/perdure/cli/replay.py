"""`perdure replay`: does a run reproduce?"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.exit_codes import FAILED

if TYPE_CHECKING:
    from perdure.core.types import JSON
    from perdure.experiment.replay import Replay
    from perdure.experiment.runs import Run
    from perdure.reports.table import Table

_EVERY = 5.0
"""Seconds between two lines of progress on stderr."""

_SHOWN = 160
"""Characters of a text in the table of differences; `--json` shows it whole."""


def replay(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    base: Annotated[
        Path | None,
        typer.Option(help="Take plug-ins and data from here, instead of what the run folder keeps."),
    ] = None,
    sets: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. `environment.engine_url=…`."),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Play the actions of runs again in a fresh environment; no model is asked.

    Exits 0 only if every observation and every evaluation reproduces; otherwise lists the first differences
    and exits 1. A run without a finished session has nothing to reproduce: that is exit 1 too. A run folder
    keeps the code of its plug-ins, and replay runs that; `--base` runs what lies in a folder now.

    Examples:

    - `perdure quickstart`, then `perdure replay quickstart/oracle`
    - `perdure replay quickstart/oracle quickstart/do_nothing --base . --json`
    """
    from perdure.experiment.replay import replay as play_again
    from perdure.experiment.runs import load
    from perdure.reports.facts import to_json

    loaded = [load(run) for run in runs]
    facts, failed = [], False
    for run in loaded:
        result = play_again(run, base=base, sets=sets, on_session=_Progress())
        failed |= not result.reproduces
        if as_json:
            facts.append(_facts(run, result))
        else:
            _print(run, result, label=f"{run.folder}: " if len(loaded) > 1 else "")
    if as_json:
        typer.echo(to_json(facts))
    if failed:
        raise typer.Exit(FAILED)


def _facts(run: Run, result: Replay) -> dict[str, JSON]:
    return {
        "folder": str(run.folder),
        "planned": run.planned,
        "reproduces": result.reproduces,
        **asdict(result),
    }


def _print(run: Run, result: Replay, *, label: str) -> None:
    from perdure.cli.console import print_tables

    if result.differences:
        print_tables([_table(result, label)])
    typer.echo(label + _verdict(run, result))


def _verdict(run: Run, result: Replay) -> str:
    """What came of it, in one line."""
    if result.version_recorded != result.version_now:
        return (
            f"not replayed: the run was played in environment version {result.version_recorded}, "
            f"this is version {result.version_now}"
        )
    unfinished = f"{result.sessions} of {run.planned} planned sessions are finished"
    if not result.sessions:
        return f"nothing to replay: {unfinished}"
    parts = [
        f"{result.sessions - result.differing}/{result.sessions} sessions reproduce ({result.steps} steps)"
    ]
    if result.ungraded:
        parts.append(f"{result.ungraded} of them had no verdict to compare")
    if result.sessions < run.planned:
        parts.append(unfinished)
    return "; ".join(parts)


class _Progress:
    """A line on stderr now and then, for runs that take long."""

    def __init__(self) -> None:
        self._printed = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._printed >= _EVERY:
            self._printed = now
            typer.echo(f"{done}/{total} sessions replayed", err=True)


def _table(result: Replay, label: str) -> Table:
    from perdure.reports.table import make_table

    columns = {"task": False, "repeat": True, "step": True, "fact": False, "recorded": False, "now": False}
    rows = [
        [
            difference.task_id,
            str(difference.repeat),
            "verdict" if difference.step is None else str(difference.step),
            difference.fact,
            *_around_difference(difference.recorded, difference.now),
        ]
        for difference in result.differences
    ]
    return make_table(f"{label}first differences" if label else "First differences", columns, rows)


def _around_difference(before: str, now: str) -> tuple[str, str]:
    """Both texts, cut to where they part."""
    same = next((i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0)
    start = max(0, same - _SHOWN // 4) if max(len(before), len(now)) > _SHOWN else 0
    shown = [
        ("…" if start else "") + text[start : start + _SHOWN] + ("…" if len(text) > start + _SHOWN else "")
        for text in (before, now)
    ]
    return shown[0], shown[1]
