"""`perdure report`: what one or several runs came to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from perdure.core.types import JSON
    from perdure.reports.table import Table


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    markdown: Annotated[bool, typer.Option("--markdown", help="GitHub Markdown instead of tables.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Compare runs in one table, with success by skill below. Unfinished runs are marked.

    Several runs are called A, B, C …; a legend gives their folders and what their configurations differ in.

    Examples:

    - `perdure quickstart`, then `perdure report quickstart/oracle`
    - `perdure report quickstart/oracle quickstart/do_nothing --markdown > results.md`
    """
    from perdure.experiment.runs import load
    from perdure.reports.facts import run_facts, to_json
    from perdure.reports.legend import legend_facts

    loaded = [load(run) for run in runs]
    facts = [{**run_facts(run), **legend} for run, legend in zip(loaded, legend_facts(loaded), strict=True)]
    if as_json:
        typer.echo(to_json(facts))
    elif markdown:
        _print_markdown(facts)
    else:
        _print(facts)


def _tables(facts: list[dict[str, JSON]]) -> list[Table | None]:
    from perdure.reports.diagnosis import diagnosis_table
    from perdure.reports.patches import patches_table
    from perdure.reports.run_tables import (
        comparison_table,
        labels,
        metrics_table,
        skills_table,
        statuses_table,
    )

    names = labels(facts)
    return [
        comparison_table(facts),
        statuses_table(facts),
        skills_table(facts),
        metrics_table(facts),
        patches_table(facts, names),
        diagnosis_table(facts, names),
    ]


def _notes(facts: list[dict[str, JSON]]) -> list[str]:
    """What must be told of each run's record, under its name where there are several."""
    from perdure.reports.record_notes import record_notes
    from perdure.reports.run_tables import labels

    named = zip(labels(facts), facts, strict=True)
    return [
        f"{name}: {note}" if len(facts) > 1 else note for name, one in named for note in record_notes(one)
    ]


def _print_markdown(facts: list[dict[str, JSON]]) -> None:
    from perdure.reports.legend import legend_table, tasks_note
    from perdure.reports.markdown import markdown

    parts = [markdown(table) for table in [legend_table(facts), *_tables(facts)] if table is not None]
    if note := tasks_note(facts):
        parts.insert(1, f"{note}\n")
    typer.echo("\n".join([*parts, *(f"- {note}" for note in _notes(facts))]))


def _print(facts: list[dict[str, JSON]]) -> None:
    from perdure.cli.console import output_width, print_tables
    from perdure.reports.legend import legend_lines, tasks_note

    if len(facts) == 1:
        lines = [f"folder: {facts[0]['folder']}"]
    else:
        note = tasks_note(facts)
        lines = [*legend_lines(facts, output_width()), *([note] if note else [])]
    typer.echo("\n".join(lines) + "\n")
    print_tables(_tables(facts))
    for note in _notes(facts):
        typer.echo(note)
