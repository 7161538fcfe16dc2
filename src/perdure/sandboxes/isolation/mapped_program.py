"""Runs one program as the root of a mapped user namespace: files it makes belong to the ids inside."""

from __future__ import annotations

import json
import os
import sys

from .identity import IdMapping, become_root, enter


def main() -> None:
    """Arguments: a JSON object with `mapping`, `folder`, `into` (a folder in it, made if missing), `argv`."""
    setup = json.loads(sys.argv[1])
    os.chdir(setup["folder"])
    enter(IdMapping(**setup["mapping"]))
    become_root()
    os.umask(0o022)
    if setup["into"]:
        os.makedirs(setup["into"], 0o755, exist_ok=True)
        os.chdir(setup["into"])
    os.execvp(setup["argv"][0], setup["argv"])
