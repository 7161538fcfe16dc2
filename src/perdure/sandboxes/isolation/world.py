"""One sandbox: a user namespace of its own, a sized disk over the root file system, bubblewrap's namespaces.

Steps, each in the process named: the keeper forks (child) → the child takes a user id that no other sandbox
has and leaves for a new user namespace (the process limit then holds for everything inside together, whatever
its user: Linux 5.14, man 2 getrlimit) → the keeper writes its id map → the child mounts a tmpfs of the wanted
size, becomes bubblewrap → the keeper waits for the first process inside and joins it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .identity import COUNT, become_root
from .linux import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    die_with_parent,
    keep_only_capabilities,
    mount,
    setns,
    stay_visible,
    unshare,
)
from .stage import Stage

_START_SECONDS = 20.0
_FIRST_SLOT, _SLOTS = 40_000, 20_000

KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31})
"""chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, sys_chroot,
audit_write, setfcap (linux/capability.h): what administering accounts and files needs, within the sandbox."""

FIRST_PROCESS = (
    "/bin/bash",
    "-c",
    "trap '' HUP INT QUIT TERM USR1 USR2; echo; while read -r -n 1; do :; done",
)
"""Reaps orphans until the keeper's end of its input closes. Signals from inside cannot end it.

Its input is a socket: unlike a pipe, that cannot be opened again through /proc/1/fd (ENXIO, man 5 proc).
"""


class StartFailed(Exception):
    """The sandbox could not be made; the message is what the failing part said."""


@dataclass(frozen=True)
class World:
    """A running sandbox. `bubblewrap` and `first` are process ids outside; `first` is process 1 inside."""

    bubblewrap: int
    first: int
    lifeline: int
    """Other end of the first process's input; closing it ends the sandbox."""


def make_world(stage: Stage, config: dict[str, Any], slot: int) -> World:
    """Start a sandbox and wait until its first process runs. Raises StartFailed."""
    pipes = {name: os.pipe() for name in ("output", "info", "errors", "asked", "mapped")}
    pipes["input"] = _socket_pair()
    child = os.fork()
    if child == 0:
        _become_bubblewrap(pipes, stage, config, _FIRST_SLOT + slot % _SLOTS)
    for name in ("input", "mapped"):
        os.close(pipes[name][0])
    for name in ("output", "info", "errors", "asked"):
        os.close(pipes[name][1])
    try:
        if os.read(pipes["asked"][0], 1):
            Path(f"/proc/{child}/uid_map").write_text(f"0 0 {COUNT}")
            Path(f"/proc/{child}/gid_map").write_text(f"0 0 {COUNT}")
            os.write(pipes["mapped"][1], b"x")
        first = _wait_until_ready(pipes["output"][0], pipes["info"][0], pipes["errors"][0])
    finally:
        for name in ("output", "info", "errors", "asked"):
            os.close(pipes[name][0])
        os.close(pipes["mapped"][1])
    return World(child, first, pipes["input"][1])


def _socket_pair() -> tuple[int, int]:
    inside, outside = socket.socketpair()
    return inside.detach(), outside.detach()


def join(world: World) -> None:
    """Enter every namespace of the sandbox; children of this process are inside from here on."""
    handle = os.pidfd_open(world.first)
    try:
        spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
        setns(handle, spaces)
    finally:
        os.close(handle)
    become_root()
    keep_only_capabilities(KEPT_CAPABILITIES)
    os.chdir("/")


def _become_bubblewrap(
    pipes: dict[str, tuple[int, int]],
    stage: Stage,
    config: dict[str, Any],
    slot: int,
) -> None:
    """Runs in the child and does not return."""
    errors = pipes["errors"][1]
    try:
        limit = config["processes"]
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.setresuid(slot, slot, slot)
        stay_visible()
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        os.write(pipes["asked"][1], b"x")
        if not os.read(pipes["mapped"][0], 1):
            os._exit(1)
        become_root()
        die_with_parent()
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        options = f"mode=755,size={config['disk_bytes']},nr_inodes={config['files']}"
        mount("tmpfs", stage.space, "tmpfs", MS_NOSUID | MS_NODEV, options)
        for number in range(1 + len(stage.layers)):
            os.mkdir(f"{stage.space}/upper{number}", 0o755)
            os.mkdir(f"{stage.space}/work{number}", 0o755)
        os.dup2(pipes["input"][0], 0)
        os.dup2(pipes["output"][1], 1)
        os.dup2(errors, 2)
        os.set_inheritable(pipes["info"][1], True)
        os.execve(stage.bubblewrap, _arguments(pipes["info"][1], stage, config), {})
    except OSError as error:
        os.write(errors, str(error).encode())
    finally:
        os._exit(1)


def _arguments(info: int, stage: Stage, config: dict[str, Any]) -> list[str]:
    arguments = ["bwrap", "--overlay-src", stage.root, *_overlay(stage, 0, "/")]
    for number, folder in enumerate(stage.layers, start=1):
        arguments += ["--overlay-src", folder, "--overlay-src", stage.root + folder]
        arguments += _overlay(stage, number, folder)
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    # Belongs to nobody inside, and would be a complaint in the output of every search from the root.
    arguments += ["--size", "4096", "--tmpfs", "/proc/tty/driver", "--remount-ro", "/proc/tty/driver"]
    arguments += ["--size", str(config["shared_memory_bytes"]), "--perms", "1777", "--tmpfs", "/dev/shm"]
    arguments += ["--remount-ro", "/dev"]
    arguments += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--hostname", config["hostname"], "--cap-drop", "ALL"]
    arguments += ["--die-with-parent", "--as-pid-1", "--new-session", "--info-fd", str(info), "--"]
    return [*arguments, *FIRST_PROCESS]


def _overlay(stage: Stage, number: int, target: str) -> list[str]:
    return ["--overlay", f"{stage.space}/upper{number}", f"{stage.space}/work{number}", target]


def _wait_until_ready(output: int, info: int, errors: int) -> int:
    deadline = time.monotonic() + _START_SECONDS
    told = b""
    while True:
        ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise StartFailed(f"not ready within {_START_SECONDS:.0f} s")
        if os.read(output, 1):
            break
        said = os.read(errors, 4096).decode("utf-8", "replace").strip()
        raise StartFailed(said or "it ended at once")
    while b"}" not in told:
        piece = os.read(info, 4096)
        if not piece:
            raise StartFailed("bubblewrap did not name its first process")
        told += piece
    return int(json.loads(told)["child-pid"])
