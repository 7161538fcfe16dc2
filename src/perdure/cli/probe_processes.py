"""Runs probes, all at once, each in a process of its own: one that hangs or crashes takes nothing with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from perdure.core.installation import run_command

SECONDS = 6.0
"""For all probes together; a whole `perdure doctor` stays under ten."""
_LEAST_SECONDS = 0.2
"""In which an answer that lies ready is read."""


@dataclass(frozen=True)
class Probed:
    """How the start of one part went; `remedy` where it failed, `seconds` where it was tried."""

    works: bool
    found: str
    remedy: str = ""
    seconds: float | None = None


def run_probes(names: Iterable[str], seconds: float = SECONDS) -> dict[str, Probed]:
    """One answer a probe of `perdure.cli.probes`, within about `seconds`. Raises nothing."""
    begun = time.monotonic()
    running: dict[str, Popen[bytes] | Probed] = {name: _start(name) for name in names}
    try:
        return {
            name: process
            if isinstance(process, Probed)
            else _answer(process, begun + seconds - time.monotonic(), seconds)
            for name, process in running.items()
        }
    finally:
        for process in running.values():
            if isinstance(process, Popen):
                _end(process)


def _start(name: str) -> Popen[bytes] | Probed:
    # Not from the current folder (-P), whose files may have the names of modules.
    command = [sys.executable, "-P", "-m", "perdure.cli.probes", name]
    try:
        return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True)
    except OSError as error:
        return Probed(False, f"no process can be started: {error}", "end other programs")


def _answer(process: Popen[bytes], left: float, allowed: float) -> Probed:
    try:
        output, errors = process.communicate(timeout=max(left, _LEAST_SECONDS))
    except TimeoutExpired:
        again = f"when this machine is idle: {run_command()} doctor"
        return Probed(False, f"no answer within {allowed:g} s", again, allowed)
    try:
        return Probed(**json.loads(output.splitlines()[-1]))
    except (ValueError, IndexError, TypeError):
        said = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        return Probed(False, ": ".join([_ending(process.returncode), *said]), "install it anew")


def _ending(code: int) -> str:
    return f"it crashed ({signal.Signals(-code).name})" if code < 0 else f"it ended with exit code {code}"


def _end(process: Popen[bytes]) -> None:
    """End a probe and what it has started; what it started elsewhere ends with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutExpired):
        process.communicate(timeout=_LEAST_SECONDS)
