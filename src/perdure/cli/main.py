"""The console script: registers the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from perdure.cli.blame import blame
from perdure.cli.check import check
from perdure.cli.compare import compare
from perdure.cli.data import data
from perdure.cli.diagnose import diagnose
from perdure.cli.doctor import doctor
from perdure.cli.exit_codes import guarded
from perdure.cli.list_plugins import list_plugins
from perdure.cli.new import new
from perdure.cli.pack import pack
from perdure.cli.quickstart import quickstart
from perdure.cli.replay import replay
from perdure.cli.report import report
from perdure.cli.run import run
from perdure.cli.sandbox import sandbox
from perdure.cli.short_traceback import print_bug
from perdure.cli.sweep import sweep

app = typer.Typer(
    name="perdure",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Evaluate and run LLM agents that last. Start with `perdure quickstart`: offline, no key.",
    epilog="Exit codes: 0 done, 1 check failed or infrastructure error, 2 usage error, 130 interrupted, "
    "143 terminated.",
)

_COMMANDS: dict[str, Callable[..., None]] = {
    "quickstart": quickstart,
    "run": run,
    "sweep": sweep,
    "pack": pack,
    "report": report,
    "compare": compare,
    "replay": replay,
    "blame": blame,
    "diagnose": diagnose,
    "doctor": doctor,
    "list": list_plugins,
    "check": check,
    "new": new,
}

for _name, _command in _COMMANDS.items():
    app.command(_name)(guarded(_command))
app.add_typer(data, name="data")
app.add_typer(sandbox, name="sandbox")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"perdure {installed('perdure')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Options of the command itself."""


def main() -> None:
    """Run the command line. An exception that is a bug ends in a traceback of the frames that matter."""
    sys.excepthook = print_bug
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the command
            nowhere = open(os.devnull, "r+", encoding="utf-8")  # noqa: SIM115 - as long as the process
            setattr(sys, name, nowhere)
    typer.main.get_command(app)()  # calling the app itself would put another hook in place
