"""`perdure blame`: which step, which patch and which observation set a field of the state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from perdure.core.session import PastSession
    from perdure.experiment.runs import Run
    from perdure.reports.table import Table

_SHOWN = 160


def blame(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    path: Annotated[
        str,
        typer.Argument(
            help="A field: a JSON Pointer such as /inventory/shelf_3, or keys joined by dots.",
            show_default=False,
        ),
    ],
    session: Annotated[
        str, typer.Option("--session", help="Number of a session, from 0, or the id of its task.")
    ] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Every step that set a field of a structured state, newest first, from the record alone.

    Example: `perdure quickstart`, then `perdure blame quickstart/structured_state /inventory/shelf_3`
    """
    from perdure.cli.console import print_tables
    from perdure.experiment.runs import load
    from perdure.reports.facts import to_json

    facts = _facts(_find(load(run), session), path)
    if as_json:
        typer.echo(to_json(facts))
    else:
        print_tables([_table(facts)])


def _find(run: Run, name: str) -> PastSession:
    from perdure.core.errors import UsageError

    records = list(run.records())
    numbers = [number for number, record in enumerate(records) if record.task_id == name]
    if name.isdecimal() and int(name) < len(records):
        numbers = [int(name)]
    if not numbers:
        raise UsageError(f"--session {name!r}: there are sessions 0 to {len(records) - 1}")
    past = run.sessions[numbers[-1]]
    if not isinstance(past.trace, dict) or "patches" not in past.trace:
        raise UsageError(f"--session {name!r}: its strategy kept no structured state")
    return past


def _facts(past: PastSession, text: str) -> dict[str, Any]:
    from perdure.core.errors import UsageError
    from perdure.state.journal import PatchJournal
    from perdure.state.paths import lookup, pointer

    journal = PatchJournal.from_trace(past.trace)
    try:
        path = journal.find(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
    steps = []
    for entry in journal.history(path):
        try:
            value, present = lookup(journal.state_at(entry.step), path), True
        except KeyError:
            value, present = None, False
        steps.append(
            {
                "step": entry.step,
                "value": value,
                "present": present,
                "patch": entry.patch,
                "action": entry.action,
                "observation": _seen_before(past, entry.step),
            }
        )
    return {"task": past.record.task_id, "path": pointer(path), "set_by": steps}


def _seen_before(past: PastSession, step: int) -> str:
    """The observation that the model had before it when it wrote the patch of a step."""
    if step >= 2:
        return past.interactions[step - 2].observation.text
    opening = past.history[: len(past.history) - 2 * len(past.interactions)]
    text = past.history[0].text if not opening else opening[-1].text
    return text.removeprefix(past.goal).lstrip("\n")


def _table(facts: dict[str, Any]) -> Table:
    from perdure.reports.table import make_table

    rows = [
        [
            str(step["step"]),
            _cut(json.dumps(step["value"], ensure_ascii=False)) if step["present"] else "(deleted)",
            _cut(step["observation"]),
            _cut(json.dumps(step["patch"], ensure_ascii=False)),
            _cut(step["action"] if isinstance(step["action"], str) else json.dumps(step["action"])),
        ]
        for step in facts["set_by"]
    ]
    columns = {"step": True, "value": False, "after the observation": False, "patch": False, "action": False}
    title = f"{facts['path']} in task {facts['task']}" + ("" if rows else ": as it was at the start")
    return make_table(title, columns, rows)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
