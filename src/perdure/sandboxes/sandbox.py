"""A place where an agent's commands run without reaching the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class ExecResult:
    """What one command did. `output` holds stdout and stderr in the order they were written."""

    exit_code: int | None
    """None when the command was ended by its timeout."""
    output: bytes
    truncated: bool = False
    timed_out: bool = False


@runtime_checkable
class Sandbox(Protocol):
    """One isolated machine. Everything in it ends with `close`, or with the process that made it."""

    def exec(self, command: str, *, timeout: float, max_output: int) -> ExecResult:
        """Run one shell command; `timeout` in seconds really ends it, `max_output` is in bytes.

        Raises EnvironmentUnavailable when the sandbox itself is gone.
        """

    def read_file(self, path: str) -> bytes:
        """Contents of a file. Raises FileNotFoundError."""

    def write_file(self, path: str, content: bytes) -> None:
        """Create or replace a file, with its folders."""

    def close(self) -> None:
        """End every process and drop every write. Idempotent."""
