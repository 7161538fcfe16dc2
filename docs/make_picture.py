"""Draws `docs/quickstart.svg` from what `perdure quickstart` really prints."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text


def main() -> None:
    """Run the quickstart in a temporary folder and export its output."""
    ours = Path(sys.executable).parent
    command = [str(ours / "perdure"), "quickstart"]
    # With the environment active, as readers have it, the next steps begin with `perdure`.
    path = f"{ours}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "108", "FORCE_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    console = Console(record=True, width=108, file=io.StringIO())
    console.print(Text("$ perdure quickstart\n", style="bold"), Text.from_ansi(printed.rstrip()))
    # No fonts from the network: the viewer's own monospace font will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="perdure"), flags=re.DOTALL)
    Path(__file__).with_name("quickstart.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
