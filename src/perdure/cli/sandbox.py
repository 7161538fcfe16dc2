"""`perdure sandbox`: root file systems for sandboxes."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli.exit_codes import guarded

sandbox = typer.Typer(no_args_is_help=True, help="Prepare what sandboxes run on.")


def build(
    name: Annotated[
        str,
        typer.Argument(help="debian, ubuntu, host, docker:IMAGE, or a .tar file."),
    ] = "debian",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it anew, though it is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Build and cache a root file system; sandboxes start from it in milliseconds.

    The first sandbox builds what it needs by itself; this does it beforehand.

    Examples: `perdure sandbox build`, `perdure sandbox build docker:ubuntu:24.04`
    """
    from perdure.reports.facts import to_json
    from perdure.sandboxes.root_builder import build_root

    root = build_root(name, rebuild=rebuild)
    if as_json:
        typer.echo(to_json({"name": root.name, "tree": str(root.tree)}))
    else:
        typer.echo(f"{root.name}: {root.tree}")


sandbox.command("build")(guarded(build))
