"""`perdure data`: task sets from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.exit_codes import guarded

data = typer.Typer(
    no_args_is_help=True, help="Bring published task sets into the form that environments read."
)


def import_set(
    kind: Annotated[str, typer.Argument(help="lifelongagentbench.", show_default=False)],
    path: Annotated[
        Path, typer.Argument(help="What was downloaded: a file or a folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the task files.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Import a published data set: parquet, JSON or JSON lines, checked row by row.

    Nothing is written unless every row can be read. The files are then what `environment.tasks` takes.

    Example: `perdure data import lifelongagentbench LifelongAgentBench/ --out tasks/`
    """
    from perdure.pipelines.importers.folder import write_folder
    from perdure.pipelines.importers.sources import reader_of
    from perdure.reports.facts import to_json

    sets = reader_of(kind)(path)
    files = write_folder(out, sets)
    facts = [
        {
            "set": name,
            "environment": each.environment,
            "tasks": len(each.entries),
            "published": each.published,
            "file": str(files[name]),
        }
        for name, each in sets.items()
    ]
    if as_json:
        typer.echo(to_json(facts))
        return
    for fact in facts:
        whole = "all" if fact["tasks"] == fact["published"] else f"{fact['tasks']} of"
        typer.echo(f"{fact['file']}: {whole} {fact['published']} published tasks for {fact['environment']}")


data.command("import")(guarded(import_set))
