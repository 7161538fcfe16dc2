"""Makes the machine of a task by the sandbox that the configuration names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Literal, TypeAlias, get_args

from perdure.sandboxes.sandbox import Sandbox

SandboxName: TypeAlias = Literal["bubblewrap", "docker", "podman"]
ShellName: TypeAlias = Literal["fresh", "persistent"]


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
