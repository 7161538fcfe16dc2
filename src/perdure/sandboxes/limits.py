"""How much a sandbox may take."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
LONGEST_SECONDS = 86_400
"""The longest a command may be given: a day, far below what a timer of the system cannot hold."""


def check_bounds(timeout: float, max_output: int) -> None:
    """Refuse senseless bounds of one command. Raises ValueError."""
    if not 0 < timeout <= LONGEST_SECONDS:
        raise ValueError(f"timeout must be positive and at most {LONGEST_SECONDS} seconds, not {timeout!r}")
    if max_output < 0:
        raise ValueError(f"max_output must be positive or 0, not {max_output!r}")


@dataclass(frozen=True)
class Limits:
    """Bounds of one sandbox; every one is enforced, none can be raised from inside. Raises ValueError.

    Sizes are in bytes. `memory_bytes` bounds the address space of each process, and the memory of all of them
    together; `cpu_seconds` bounds each process; `processes` and the disk are bounds of the whole sandbox.
    A command that writes more than `flood_bytes` is ended.
    """

    memory_bytes: int = 1024 * MIB
    processes: int = 256
    cpu_seconds: int = 120
    disk_bytes: int = 256 * MIB
    files: int = 100_000
    file_bytes: int = 256 * MIB
    shared_memory_bytes: int = 16 * MIB
    open_files: int = 1024
    flood_bytes: int = 64 * MIB

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
