"""`perdure list`: which plugins and data sets there are."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from perdure.core.types import JSON
    from perdure.experiment.registry import Kind


class Listing(StrEnum):
    """What can be listed."""

    ENVIRONMENTS = "environments"
    STRATEGIES = "strategies"
    MODELS = "models"
    CALLBACKS = "callbacks"
    SANDBOXES = "sandboxes"
    DATASETS = "datasets"


_KINDS: dict[Listing, Kind] = {
    Listing.ENVIRONMENTS: "environment",
    Listing.STRATEGIES: "strategy",
    Listing.MODELS: "model",
    Listing.CALLBACKS: "callback",
    Listing.SANDBOXES: "sandbox",
}

_SINGULAR: dict[Listing, str] = {**_KINDS, Listing.DATASETS: "dataset"}


def _listing(text: str) -> Listing:
    """Plural or singular."""
    for listing in Listing:
        if text in (listing.value, _SINGULAR.get(listing)):
            return listing
    raise typer.BadParameter(f"{text!r} is not one of: {', '.join(Listing)}")


def list_plugins(
    what: Annotated[
        Listing | None,
        typer.Argument(parser=_listing, metavar="WHAT", help=f"One of {', '.join(Listing)}; all by default."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """List plugins and shipped data sets: names, what they are, and where they come from.

    A plugin of your own needs no registration: `file.py:Class` stands wherever a name does.

    Examples: `perdure list`, `perdure list strategies --json`
    """
    from perdure.cli.console import print_tables
    from perdure.reports.facts import to_json
    from perdure.reports.table import make_table

    rows = [row for listing in ([what] if what else list(Listing)) for row in _rows(listing)]
    if as_json:
        typer.echo(to_json(rows))
        return
    if not rows:
        typer.echo(f"no {what or 'plugins'} are installed")
        return
    columns = {"kind": False, "name": False, "what": False, "from": False}
    print_tables([make_table("Plugins and data sets", columns, [list(row.values()) for row in rows])])


def _rows(listing: Listing) -> list[dict[str, JSON]]:
    if listing is Listing.DATASETS:
        return _datasets()
    from perdure.experiment.registry import load_plugin, plugin_names

    kind = _KINDS[listing]
    rows = []
    for name in plugin_names(kind):
        plugin = load_plugin(kind, name)
        rows.append(
            {
                "kind": kind,
                "name": name,
                "what": _first_line(plugin.target.__doc__),
                "from": plugin.module.__name__,
            }
        )
    return rows


def _datasets() -> list[dict[str, JSON]]:
    """Data files that environments ship in a `data` folder beside their class."""
    from pathlib import Path

    from perdure.experiment.registry import load_plugin, plugin_names

    rows: list[dict[str, JSON]] = []
    for name in plugin_names("environment"):
        module_file = load_plugin("environment", name).module.__file__
        folder = Path(module_file or "").parent / "data"
        rows.extend(
            {
                "kind": "dataset",
                "name": f"{name}/{path.name}",
                "what": f"tasks of the environment {name!r}, {path.stat().st_size / 1000:.0f} kB",
                "from": str(path),
            }
            for path in sorted(folder.glob("*.json*"))
        )
    return rows


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().partition("\n")[0]
