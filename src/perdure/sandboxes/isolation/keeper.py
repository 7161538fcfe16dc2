"""Keeps one sandbox: runs its commands one after another, and ends it when its owner is gone.

A keeper stands outside the process namespace of its sandbox and inside all the others, so nothing inside can
see or signal it, and a fork of it is a process inside.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import socket
import stat
import time
from pathlib import PurePosixPath
from typing import Any

from .command import Bounds, HostGone, Watch, run_fresh
from .framing import Closed, receive, send
from .linux import die_with_parent
from .persistent_shell import PersistentShell
from .process_tree import ProcessTree
from .refusals import explain
from .stage import Stage
from .world import StartFailed, World, join, make_world

_IDLE_SECONDS = 1.0
_CHUNK = 1 << 16
_BACKGROUND_SHARE = 0.5
"""How much of the process limit may be in the background, so that a fork bomb leaves room for commands."""


def keep(sock: socket.socket, stage: Stage, config: dict[str, Any]) -> None:
    """Make a sandbox, serve it until its owner is gone, end it. Answers errors on the socket."""
    die_with_parent()
    outer_proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        world = make_world(stage, config, config["slot"])
        join(world)
        die_with_parent()
    except (StartFailed, OSError) as error:
        with contextlib.suppress(Closed):
            send(sock, {"error": explain(error, is_root=stage.is_root)})
        return
    keeper = Keeper(
        sock, world, config, ProcessTree(outer_proc, os.getpid(), {world.bubblewrap, world.first})
    )
    try:
        send(sock, {"ready": True, "first": world.first})
        keeper.serve()
    except (Closed, HostGone):
        pass
    finally:
        end(world)


def end(world: World) -> None:
    """Kill the first process, and with it all others; wait until they are gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(world.first, signal.SIGKILL)
    # All children, in any order: the first process ends only after every other one was waited for.
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class Keeper:
    """Serves the requests of one sandbox object."""

    def __init__(self, sock: socket.socket, world: World, config: dict[str, Any], tree: ProcessTree) -> None:
        self._sock = sock
        self._config = config
        self._tree = tree
        self._shell = PersistentShell(tree, config) if config["persistent_shell"] else None
        self._strays: dict[int, int] = {}
        """Outputs that background processes hold open, and how much of each was dropped."""
        self._world = world
        self._selector = selectors.DefaultSelector()
        self._selector.register(sock, selectors.EVENT_READ, "request")
        self._selector.register(os.pidfd_open(world.first), selectors.EVENT_READ, "death")

    def serve(self) -> None:
        """Until the connection or the sandbox ends. Raises Closed, HostGone."""
        look = time.monotonic() + _IDLE_SECONDS
        while True:
            for key, _ in self._selector.select(_IDLE_SECONDS):
                if key.data == "request":
                    self._answer(*receive(self._sock))
                elif key.data == "death":
                    send(self._sock, {"dead": True})
                    return
                else:
                    self._discard(key.fd)
            if time.monotonic() >= look:
                self._contain_background()
                look = time.monotonic() + _IDLE_SECONDS

    def _answer(self, request: dict[str, Any], payload: bytes) -> None:
        if self._is_dead():
            send(self._sock, {"dead": True})
            raise Closed("the first process is gone")
        try:
            match request["op"]:
                case "exec":
                    self._exec(request, payload)
                case "read":
                    send(self._sock, {"ok": True}, read_file(request["path"], request["limit"]))
                case "write":
                    write_file(request["path"], payload)
                    send(self._sock, {"ok": True})
        except OSError as error:
            if self._is_dead():
                send(self._sock, {"dead": True})
                raise Closed("the first process is gone") from error
            send(self._sock, {"errno": error.errno, "message": error.strerror or str(error)})

    def _exec(self, request: dict[str, Any], script: bytes) -> None:
        self._contain_background()
        bounds = Bounds(request["timeout"], request["max_output"], self._config)
        watch = Watch(self._tree, bounds, self._sock.fileno(), self._is_host_gone)
        text = os.fsdecode(script)
        if self._shell is not None:
            outcome = self._shell.run(watch, text)
        else:
            outcome, still_open = run_fresh(self._tree, watch, text, self._config)
            if still_open is not None:
                self._strays[still_open] = 0
                self._selector.register(still_open, selectors.EVENT_READ, "stray")
        header = {key: value for key, value in vars(outcome).items() if key != "output"}
        if self._is_dead():
            header["dead"] = True
        send(self._sock, header, outcome.output)

    def _contain_background(self) -> None:
        """End everything that runs where it is too much between two commands."""
        crowd = len(self._tree.members()) > self._config["processes"] * _BACKGROUND_SHARE
        if crowd or self._tree.holds_more_than(self._config["memory_bytes"]):
            shell = self._shell.processes if self._shell is not None else frozenset()
            self._tree.end(shell, within=shell)

    def _discard(self, stream: int) -> None:
        """Drop what background processes write after their command ended; from a flood on, they must wait."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(stream, _CHUNK)
            self._strays[stream] += len(data)
            if not data or self._strays[stream] > self._config["flood_bytes"]:
                self._selector.unregister(stream)
            if not data:
                os.close(stream)
                del self._strays[stream]

    def _is_host_gone(self) -> bool:
        try:
            return self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _is_dead(self) -> bool:
        return self._tree.is_ending(self._world.first)


def read_file(path: str, limit: int) -> bytes:
    """A regular file of at most `limit` bytes; a pipe or device that somebody put there is not waited for."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"longer than {limit} bytes")
    return content


def write_file(path: str, content: bytes) -> None:
    """Create or replace a file, with its folders."""
    os.makedirs(PurePosixPath("/", path).parent, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    with os.fdopen(os.open(path, flags, 0o644), "wb") as stream:
        stream.write(content)
