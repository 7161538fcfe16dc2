"""`perdure replay`: does a run reproduce?"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.exit_codes import FAILED

if TYPE_CHECKING:
    from perdure.replay import Replay
    from perdure.reports.table import Table

_EVERY = 5.0
"""Seconds between two lines of progress on stderr."""

_SHOWN = 160
"""Characters of a text in the table of differences; `--json` shows it whole."""


def replay(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Play the actions of a run again in a fresh environment; no model is asked.

    Exits 0 only if every observation and every evaluation reproduces; otherwise lists the first differences
    and exits 1.

    Example: `perdure replay runs/example-1a2b3c4d`
    """
    from perdure.cli.console import print_tables
    from perdure.replay import replay as play_again
    from perdure.reports.facts import to_json
    from perdure.run import load

    result = play_again(load(run), on_session=_Progress())
    if as_json:
        typer.echo(to_json({**asdict(result), "reproduces": result.reproduces}))
    elif result.version_recorded != result.version_now:
        typer.echo(
            f"not replayed: the run was played in environment version {result.version_recorded}, "
            f"this is version {result.version_now}"
        )
    else:
        if result.differences:
            print_tables([_table(result)])
        same = result.sessions - result.differing
        remark = f"; {result.ungraded} of them had no verdict to compare" if result.ungraded else ""
        typer.echo(f"{same}/{result.sessions} sessions reproduce ({result.steps} steps){remark}")
    if not result.reproduces:
        raise typer.Exit(FAILED)


class _Progress:
    """A line on stderr now and then, for runs that take long."""

    def __init__(self) -> None:
        self._printed = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._printed >= _EVERY:
            self._printed = now
            typer.echo(f"{done}/{total} sessions replayed", err=True)


def _table(result: Replay) -> Table:
    from perdure.reports.table import make_table

    columns = {"task": False, "repeat": True, "step": True, "fact": False, "recorded": False, "now": False}
    rows = [
        [
            difference.task_id,
            str(difference.sample),
            "verdict" if difference.step is None else str(difference.step),
            difference.fact,
            *_around_difference(difference.recorded, difference.now),
        ]
        for difference in result.differences
    ]
    return make_table("First differences", columns, rows)


def _around_difference(before: str, now: str) -> tuple[str, str]:
    """Both texts, cut to where they part."""
    same = next((i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0)
    start = max(0, same - _SHOWN // 4) if max(len(before), len(now)) > _SHOWN else 0
    shown = [
        ("…" if start else "") + text[start : start + _SHOWN] + ("…" if len(text) > start + _SHOWN else "")
        for text in (before, now)
    ]
    return shown[0], shown[1]
