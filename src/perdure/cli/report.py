"""`perdure report`: what one or several runs came to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    markdown: Annotated[bool, typer.Option("--markdown", help="GitHub Markdown instead of tables.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Compare runs in one table, with success by skill below. Unfinished runs are marked.

    Examples:

    - `perdure report runs/example-1a2b3c4d`
    - `perdure report runs/* --markdown > results.md`
    """
    from perdure.cli.console import print_tables
    from perdure.reports.facts import run_facts, to_json
    from perdure.reports.markdown import markdown as render
    from perdure.reports.run_tables import comparison_table, metrics_table, skills_table
    from perdure.run import load

    facts = [run_facts(load(run)) for run in runs]
    if as_json:
        typer.echo(to_json(facts))
        return
    tables = [comparison_table(facts), skills_table(facts), metrics_table(facts)]
    if markdown:
        typer.echo("\n".join(render(table) for table in tables if table is not None))
    else:
        print_tables(tables)
