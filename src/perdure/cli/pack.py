"""`perdure pack`: a run as one archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def pack(
    run: Annotated[Path, typer.Argument(help="The run folder.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The archive [default: RUN.tar.gz].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Write one archive of a run that replays elsewhere.

    It holds the run folder, the code of its plug-ins and the data files of its environment; model weights are
    left out, because a replay asks no model.

    Examples:

    - `perdure quickstart`, then `perdure pack quickstart/oracle`
    - `perdure pack quickstart/oracle --out elsewhere.tar.gz`
    """
    from perdure.experiment.pack import pack as write
    from perdure.experiment.runs import load

    loaded = load(run)
    archive = out or Path(f"{run.resolve().name}.tar.gz")
    write(loaded, archive)
    size = archive.stat().st_size
    if as_json:
        typer.echo(json.dumps({"archive": str(archive), "bytes": size, "sessions": len(loaded.sessions)}))
    else:
        typer.echo(f"{archive}: {len(loaded.sessions)} sessions, {size / 1e6:.1f} MB")
