"""`perdure doctor`: what works on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Say what works on this machine, and the one command that brings what does not. Never fails.

    Listed is what everything needs, and what a plugin or command that is installed wants. What can be started
    is started: a sandbox, a private database server, the packaged model, container engines; this takes a few
    seconds, never ten, and builds nothing.
    """
    from perdure.cli.console import print_tables
    from perdure.cli.machine import examine
    from perdure.reports.facts import to_json
    from perdure.reports.table import make_table

    findings = list(examine())
    if as_json:
        typer.echo(to_json([asdict(finding) for finding in findings]))
        return
    columns = {
        "part (who needs it)": False,
        "works": False,
        "seconds": True,
        "found": False,
        "to get it": False,
    }
    rows = [
        [
            f"{finding.part} ({finding.used_by})" if finding.used_by else finding.part,
            "yes" if finding.works else "no",
            "" if finding.seconds is None else f"{finding.seconds:.2f}",
            finding.found,
            "" if finding.works else finding.remedy,
        ]
        for finding in findings
    ]
    print_tables([make_table("This machine", columns, rows)])
