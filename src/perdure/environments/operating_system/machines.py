"""Makes the machine of a task by the sandbox that the configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from perdure.sandboxes.sandbox import Sandbox

SandboxName: TypeAlias = Literal["bubblewrap", "docker", "podman"]
ShellName: TypeAlias = Literal["fresh", "persistent"]


_GIBIBYTE = 1 << 30
_MACHINES_A_CORE = 4


def most_machines(environment: object) -> int:
    """How many machines this one can hold at once: four a core, and a GiB of free memory for each."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MACHINES_A_CORE * cores, free_memory() // _GIBIBYTE))


def free_memory() -> int:
    """Bytes that can be had without swapping, as Linux says; half a GiB a machine where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        return _MACHINES_A_CORE * (os.cpu_count() or 1) * _GIBIBYTE // 2


def machine_maker(sandbox: SandboxName, root: str, shell: ShellName) -> Callable[[], Sandbox]:
    """A function that starts a fresh machine. Raises ValueError for a name that means nothing."""
    for given, choices in ((sandbox, get_args(SandboxName)), (shell, get_args(ShellName))):
        if given not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {given!r}")
    chosen = {"root": root} if root else {}

    def make() -> Sandbox:
        maker = import_module(f"perdure.sandboxes.{sandbox}").SANDBOX
        machine: Sandbox = maker(**chosen, persistent_shell=shell == "persistent")
        return machine

    return make
