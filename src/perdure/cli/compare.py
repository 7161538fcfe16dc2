"""`perdure compare`: paired statistics of runs over the same tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    metric: Annotated[
        str, typer.Option(help="What to compare: success, reward, interactions or turns.")
    ] = "success",
    baseline: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A run of the baseline [default: the first run].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Compare methods on the same tasks: differences with 95 % intervals, exact tests, Holm's correction.

    Runs that differ in nothing but name, seed and order are repeats of one method; with two or more in
    common the run is the unit. Runs of other tasks or environment versions are refused.

    Examples:

    - `perdure quickstart`, then `perdure compare quickstart/do_nothing quickstart/oracle`
    - `perdure compare quickstart/oracle quickstart/do_nothing --baseline quickstart/oracle --metric reward`
    """
    from perdure.cli.console import print_tables
    from perdure.experiment.compare import compare_runs
    from perdure.experiment.runs import load
    from perdure.reports.compare_table import (
        comparison_facts,
        comparison_table,
        differs_lines,
        learning_table,
        tokens_table,
        ungraded_table,
        warning_lines,
    )
    from perdure.reports.facts import to_json

    comparison = compare_runs(
        [load(run) for run in runs],
        metric=metric,  # type: ignore[arg-type]
        baseline=load(baseline) if baseline is not None else None,
    )
    if as_json:
        typer.echo(to_json(comparison_facts(comparison)))
        return
    tables = (comparison_table, ungraded_table, learning_table, tokens_table)
    print_tables([table(comparison) for table in tables])
    for line in [*differs_lines(comparison), *warning_lines(comparison)]:
        typer.echo(line)
