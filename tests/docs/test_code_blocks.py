"""Every code block of the README and of docs/ runs, in order, in one folder a page.

`python` blocks of a page share one namespace and process; `sh` blocks run with `perdure` on the path.
Those of the README run as a newcomer types them: beside the `.venv` of `make quickstart`, nothing activated.
A block of any language whose first line is `# file: NAME` is written to that file instead. A block under a
comment `<!-- not run: reason -->` is left out. `text` and `console` blocks are pictures.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#]+)")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(match["language"], match["code"], text[: match.start()].count("\n") + 1)
        for match in BLOCK.finditer(text)
        if not match["skip"]
    ]


def run_block(block: Block, folder: Path, python: list[str], path: str) -> None:
    """Run or write one block; Python blocks are collected, so that each sees the names of those before it."""
    first, _, rest = block.code.partition("\n")
    if first.startswith("# file: "):
        target = folder / first.removeprefix("# file: ").strip()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rest, "utf-8")
        return
    if block.language == "python":
        python.append(block.code)
        command = [sys.executable, "-c", "\n".join(python)]
    elif block.language == "sh":
        command = ["bash", "-euo", "pipefail", "-c", block.code]
    else:
        return
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"line {block.line}:\n{block.code}\n{done.stdout}\n{done.stderr}"


@pytest.mark.timeout(240)  # a page is many commands, each in a process of its own
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    python: list[str] = []
    ours = Path(sys.executable).parent
    path = os.environ["PATH"].split(os.pathsep)
    if page.name == "README.md" and page.parent == ROOT:
        path = [folder for folder in path if not Path(folder, "perdure").exists()]
        (tmp_path / ".venv").symlink_to(ours.parent)
    else:
        path.insert(0, str(ours))
    for block in blocks(page):
        run_block(block, tmp_path, python, os.pathsep.join(path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_block_is_understood() -> None:
    known = {"python", "sh", "toml", "text", "console", "json", "sql", ""}
    for page in PAGES:
        assert {block.language for block in blocks(page)} <= known, page.name
