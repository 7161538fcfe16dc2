"""Whether this machine can run the sandboxes that a test needs."""

from __future__ import annotations

from functools import cache

import pytest

from perdure.core.errors import PerdureError
from perdure.sandboxes.bubblewrap import BubblewrapSandbox


@cache
def missing_for_bubblewrap() -> str:
    """Why bubblewrap sandboxes cannot run here, or nothing."""
    try:
        BubblewrapSandbox(root="host").close()
    except PerdureError as problem:
        return str(problem)
    return ""


def need_bubblewrap() -> None:
    """Skip the test, with the reason, where bubblewrap sandboxes cannot run."""
    reason = missing_for_bubblewrap()
    if reason:
        pytest.skip(reason)


def need_programs(machine: BubblewrapSandbox, *names: str) -> None:
    """Skip the test where the root, which may be this machine's own, lacks a program."""
    for name in names:
        if machine.exec(f"command -v {name}", timeout=20, max_output=200).exit_code:
            pytest.skip(f"the root has no {name}")
