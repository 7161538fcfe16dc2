"""`perdure run`: carry an experiment out, or resume it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.console import printable
from perdure.cli.exit_codes import resumable
from perdure.cli.out_folder import check_folder

if TYPE_CHECKING:
    from perdure.core.types import JSON
    from perdure.experiment.experiment import Experiment


_TASKS = r"Only these tasks: `0,7,12`; a comma in an id is written `\,`."


def run(
    config: Annotated[Path, typer.Argument(help="The experiment, a TOML file.", show_default=False)],
    sets: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a key, e.g. `agent.kind=oracle`. Repeatable."
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks.")] = None,
    tasks: Annotated[str | None, typer.Option(metavar="IDS", help=_TASKS)] = None,
    repeat: Annotated[int | None, typer.Option(min=1, help="Play the whole schedule N times.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder [default: runs/NAME-HASH].")] = None,
    max_parallel: Annotated[
        int | None, typer.Option(min=1, help="Play N sessions side by side [default: as many as is safe].")
    ] = None,
    cache: Annotated[bool, typer.Option("--cache", help="Reuse stored replies of models.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate tokens and cost; ask no model.")
    ] = False,
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Also play the oracle and the do-nothing agent.")
    ] = True,
    restart_task: Annotated[
        str | None,
        typer.Option(metavar="INDEX|all", help="Take a fresh start of an open task: ask its calls anew."),
    ] = None,
    accept_version: Annotated[
        bool, typer.Option("--accept-version", help="Go on with a run of another version of perdure.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Run an experiment, or resume it: the same command continues where an earlier one stopped.

    Examples:

    - `perdure new environment dice`, then `perdure run dice.toml`
    - `perdure quickstart`, then `perdure run quickstart/model.toml --set agent.kind=oracle --limit 1`
    - `perdure run quickstart/model.toml --dry-run`
    """
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment

    restart = _restart(restart_task)
    watchers = [] if quiet or dry_run else ["progress"]
    loaded = load_config(config, sets, values=_values(limit, tasks, repeat, out, max_parallel, cache=cache))
    with Experiment(
        loaded, base=config.resolve().parent, watchers=watchers, accept_version=accept_version
    ) as experiment:
        check_folder(experiment.folder)
        if dry_run:
            _print_estimate(experiment, as_json=as_json)
        else:
            _say_what_changed(experiment)
            if experiment.pending and (bold := experiment.parallelism_warning):
                typer.echo(bold, err=True)
            if not quiet and experiment.pending:
                _say_what_it_can_find(experiment)
            _carry_out(experiment, restart, floors=floors, as_json=as_json)


def _values(
    limit: int | None,
    tasks: str | None,
    repeat: int | None,
    out: Path | None,
    max_parallel: int | None,
    *,
    cache: bool,
) -> dict[str, JSON]:
    """The options that are short for keys."""
    given: dict[str, JSON] = {
        "execution.limit": limit,
        "execution.repeat": repeat,
        "tasks": None if tasks is None else task_ids(tasks),
        "execution.out": None if out is None else str(out),
        "execution.max_parallel": max_parallel,
        "execution.cache": cache or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def task_ids(given: str) -> list[str]:
    r"""`0,7,12` as a list; a comma that belongs to an id is written `\,`. Nothing else means anything."""
    return [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", given)]


def _say_what_it_can_find(experiment: Experiment) -> None:
    from perdure.reports.detectable import detectable_line

    experiment.check()  # a mistake stands alone
    typer.echo(detectable_line(experiment), err=True)


def _say_what_changed(experiment: Experiment) -> None:
    from perdure.experiment.surroundings import remarks

    if experiment.pending:
        told = remarks(experiment.config, experiment.identity, experiment.folder, experiment.base)
        for line in [*told, *experiment.moved]:
            typer.echo(printable(line), err=True)


def _restart(wanted: str | None) -> list[int] | Literal["all"]:
    """Places in the schedule. Raises ConfigError."""
    from perdure.core.errors import ConfigError

    if wanted is None:
        return []
    if wanted == "all":
        return "all"
    if not (wanted.isascii() and wanted.isdecimal()):
        raise ConfigError(f"--restart-task cannot be {wanted!r}; give a task's place from 0, or 'all'")
    return [int(wanted)]


def _carry_out(
    experiment: Experiment, restart: list[int] | Literal["all"], *, floors: bool, as_json: bool
) -> None:
    from perdure.experiment.runs import Run
    from perdure.reports.facts import run_facts, to_json
    from perdure.reports.floors import floors_of

    with resumable(experiment.folder):
        experiment.run(restart=restart)
        if floors:
            floors_of(experiment)
    facts = run_facts(Run(experiment.folder))
    if as_json:
        typer.echo(to_json(facts))
    else:
        _print_result(facts)
        if experiment.was_finished:
            typer.echo("already finished, nothing was played")


def _print_result(facts: dict[str, JSON]) -> None:
    from perdure.cli.console import print_tables
    from perdure.core.installation import run_command
    from perdure.reports.patches import patches_table
    from perdure.reports.record_notes import record_notes
    from perdure.reports.run_tables import (
        ignored_line,
        labels,
        metrics_table,
        result_table,
        skills_table,
        statuses_line,
    )

    tables = [result_table(facts, facts["floors"] or {}), skills_table([facts]), metrics_table([facts])]
    print_tables([*tables, patches_table([facts], labels([facts]))])
    typer.echo(printable(statuses_line(facts)))
    if ignored := ignored_line(facts):
        typer.echo(printable(ignored))
    for note in record_notes(facts):
        typer.echo(printable(note))
    folder = facts["folder"]
    perdure = run_command()
    typer.echo(f"folder: {folder}\nnext: {perdure} report {folder} | {perdure} replay {folder}")


def _print_estimate(experiment: Experiment, *, as_json: bool) -> None:
    from perdure.cli.console import print_tables
    from perdure.experiment.estimate import estimate
    from perdure.reports.detectable import detectable_effect, detectable_line
    from perdure.reports.estimate_table import estimate_facts, estimate_table
    from perdure.reports.facts import to_json

    estimated = estimate(experiment)
    if as_json:
        effect = detectable_effect(experiment)
        typer.echo(to_json({**estimate_facts(estimated), "minimum_detectable_effect": effect}))
    else:
        print_tables([estimate_table(estimated)])
        typer.echo(detectable_line(experiment))
