"""The machines of tasks: which root they stand on, what a root holds, and how one is started."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, get_args

from perdure.environments.choices import choose
from perdure.sandboxes.root_choice import AUTO, choose_root
from perdure.sandboxes.root_fs import root_folder
from perdure.sandboxes.sandbox import Sandbox

SandboxName: TypeAlias = Literal["bubblewrap", "docker", "podman"]
ShellName: TypeAlias = Literal["fresh", "persistent"]

_SECONDS = 60.0
_MAX_OUTPUT = 1 << 20
_SYSTEM = """
for file in /etc/os-release /usr/lib/os-release; do [ -r $file ] && . $file && break; done
echo "${PRETTY_NAME:-unknown}"
for folder in /usr/local/bin /usr/local/sbin /usr/bin /usr/sbin /bin /sbin; do
    [ -L $folder ] || stat -L -c '%f %Y %s %n' $folder/*
done 2>/dev/null | while read -r mode time rest; do
    case $mode in 81*) echo "$time $rest" ;; *) echo "$rest" ;; esac
done | cksum
"""
"""Mode 81…: a regular file that is not setuid. The host root copies setuid programs, at times of its own."""


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
    choose("sandbox", sandbox, get_args(SandboxName))
    choose("shell", shell, get_args(ShellName))

    def make() -> Sandbox:
        machine: Sandbox = _class_of(sandbox)(root=root, persistent_shell=shell == "persistent")
        return machine

    return make


def resolve_root(sandbox: SandboxName, root: str) -> str:
    """The root that a configuration means here; an engine's `auto` is its own default. Raises ValueError."""
    choose("sandbox", sandbox, get_args(SandboxName))
    if not root:
        raise ValueError(
            "root must be a name; choose auto, debian, ubuntu, host, docker:IMAGE or a .tar file"
        )
    if sandbox == "bubblewrap" or root != AUTO:
        return choose_root(root)
    default: str = inspect.signature(_class_of(sandbox)).parameters["root"].default
    return default


def resolve_parameters(*, sandbox: SandboxName = "bubblewrap", root: str = AUTO) -> Mapping[str, str]:
    """What this machine decides of the environment's parameters. Raises ValueError."""
    return {"root": resolve_root(sandbox, root)}


def surroundings(*, sandbox: SandboxName = "bubblewrap", root: str = AUTO) -> Mapping[str, str]:
    """The root, its system, and a checksum of its programs by their names, sizes and times.

    Raises EnvironmentUnavailable.
    """
    name = resolve_root(sandbox, root)
    machine = machine_maker(sandbox, name, "fresh")()
    try:
        result = machine.exec(_SYSTEM, timeout=_SECONDS, max_output=_MAX_OUTPUT)
    finally:
        machine.close()
    system, _, programs = result.output.decode("utf-8", "replace").strip().partition("\n")
    return {"root": name, "system": system, "programs": programs.replace(" ", "-")}


_asking = Lock()
_known: dict[Path, frozenset[str]] = {}


def commands_of_root(sandbox: SandboxName, root: str) -> frozenset[str]:
    """`known_commands` of a root, asked once a process: the lanes of a run share the answer.

    An engine's image may get another content under its name: it is asked each time.
    """
    make_machine = machine_maker(sandbox, root, "fresh")
    if sandbox != "bubblewrap":
        return known_commands(make_machine)
    with _asking:
        place = root_folder(root)
        if place not in _known:
            _known[place] = known_commands(make_machine)
        return _known[place]


def known_commands(make_machine: Callable[[], Sandbox]) -> frozenset[str]:
    """Every command that bash finds on a fresh machine; empty where its bash cannot list them.

    Raises EnvironmentUnavailable.
    """
    machine = make_machine()
    try:
        result = machine.exec("compgen -c", timeout=_SECONDS, max_output=_MAX_OUTPUT)
    finally:
        machine.close()
    return (
        frozenset(result.output.decode("utf-8", "replace").split("\n"))
        if result.exit_code == 0
        else frozenset()
    )


def _class_of(sandbox: SandboxName) -> Any:
    return import_module(f"perdure.sandboxes.{sandbox}").SANDBOX
