"""`perdure new`: a working skeleton to start from."""

from __future__ import annotations

import keyword
import sys
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer


class Skeleton(StrEnum):
    """What can be started."""

    ENVIRONMENT = "environment"
    CALLBACK = "callback"
    STRATEGY = "strategy"


def new(
    kind: Annotated[Skeleton, typer.Argument(help="What to start.", show_default=False)],
    name: Annotated[str, typer.Argument(help="Its name in snake_case.", show_default=False)],
    folder: Annotated[Path, typer.Option("--dir", help="Where to write.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Write a small working plugin, its tests and a configuration that runs it. Overwrites nothing.

    Example: `perdure new environment dice`, then `perdure run dice.toml`
    """
    from perdure.core.installation import add_packages, run_command
    from perdure.reports.facts import to_json

    written = write_skeleton(kind, name, folder)
    if as_json:
        typer.echo(to_json([str(path) for path in written]))
        return
    for path in written:
        typer.echo(f"wrote {path}")
    module, test, config = written
    typer.echo(f"next: {sys.executable} -m pytest {test} | {run_command()} run {config}")
    if find_spec("pytest") is None:
        typer.echo(f"pytest is not installed; to get it: {add_packages('pytest')}")
    typer.echo(f"use it anywhere as {module}:{_class_name(name)}")


def write_skeleton(kind: Skeleton, name: str, folder: Path) -> list[Path]:
    """Write module, test and configuration, all or none. Raises ConfigError."""
    from importlib.resources import files
    from string import Template

    from perdure.core.errors import ConfigError

    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise ConfigError(f"new: {name!r} is no name for a module; use snake_case, such as my_{kind}")
    targets = {
        folder / f"{name}.py": f"{kind}.py.template",
        folder / f"test_{name}.py": f"{kind}_test.py.template",
        folder / f"{name}.toml": f"{kind}.toml.template",
    }
    for path in targets:
        if path.exists():
            raise ConfigError(f"new: {str(path)!r} exists already; nothing was written")
    templates = files("perdure.cli").joinpath("templates")
    values = {"name": name, "class_name": _class_name(name)}
    texts = {
        path: Template(templates.joinpath(template).read_text("utf-8")).substitute(values)
        for path, template in targets.items()
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"new: cannot write to {str(folder)!r}: {error}") from error
    return list(texts)


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
