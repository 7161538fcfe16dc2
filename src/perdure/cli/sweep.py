"""`perdure sweep`: a grid of runs on local processes, one table at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.console import printable
from perdure.cli.exit_codes import FAILED, resumable

if TYPE_CHECKING:
    from perdure.experiment.sweep import RunOutcome


def sweep(
    file: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="The sweep file.", show_default=False)],
    backend: Annotated[str, typer.Option(help="Where runs are carried out: local.")] = "local",
    workers: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Folder of the run folders [default: runs/NAME].")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also print the published numbers beside.")] = False,
    accept_version: Annotated[
        bool, typer.Option("--accept-version", help="Go on with runs of another version of perdure.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Run every combination of a sweep file, or what is left of it: finished runs are not run again.

    A run that fails does not stop the others; it is listed, and the exit code is 1.
    So is one whose plug-ins or data changed since it was played: give another `--out`.

    Examples:

    - `perdure quickstart`, then `perdure sweep quickstart/strategies.toml`
    - `perdure sweep quickstart/strategies.toml --workers 2 --json > sweep.json`
    """
    from perdure.core.errors import ConfigError
    from perdure.experiment.sweep import load_sweep, run_sweep
    from perdure.reports.facts import to_json
    from perdure.reports.sweep_table import sweep_facts, sweep_table

    if backend != "local":
        raise ConfigError(f"--backend {backend!r}; choose one of: local")
    planned = load_sweep(file, out=out)
    progress = None if quiet else _Progress(len(planned.runs))
    with resumable(planned.out):
        outcomes = run_sweep(planned, workers=workers, on_outcome=progress, accept_version=accept_version)
    facts = sweep_facts(outcomes)
    failed = [entry for entry in facts if entry["error"]]
    if as_json:
        typer.echo(to_json({"sweep": planned.name, "failed": len(failed), "runs": facts}))
    else:
        from perdure.cli.console import print_tables
        from perdure.reports.paper import paper_table

        print_tables([sweep_table(planned.name, facts), paper_table(facts) if paper else None])
    for entry in failed:
        typer.echo(printable(f"failed: {entry['run']}: {entry['error']}"), err=True)
    if failed:
        raise typer.Exit(FAILED)


class _Progress:
    """A line on stderr for every run that ends."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, outcome: RunOutcome) -> None:
        self._done += 1
        state = "failed" if outcome.error else "finished before" if outcome.skipped else "done"
        typer.echo(f"{self._done}/{self._total} runs · {outcome.run.label} · {state}", err=True)
