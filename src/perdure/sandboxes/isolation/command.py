"""One command inside the sandbox: started, read, ended. Runs in the keeper."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .bounded_output import BoundedOutput
from .process_tree import ProcessTree

BASH = "/bin/bash"
MOST_IN_A_PIPE = 1 << 20
"""The largest a pipe can be made (man 7 pipe, pipe-max-size)."""

_CHUNK = 1 << 16
_LONGEST_ARGUMENT = 100_000
"""Bytes of a script that is an argument of bash; the kernel's bound is 131,071 (man 2 execve)."""
_FROM_FILE = 'eval "$(</dev/fd/3)" 3<&-'
_GUARD_SECONDS = 0.2


@dataclass
class Outcome:
    """What became of a command. `note` says in one line why the sandbox ended it, where it did."""

    exit_code: int | None
    output: bytes
    truncated: bool = False
    timed_out: bool = False
    note: str = ""


@dataclass(frozen=True)
class Bounds:
    """Limits of one command; those of `config` hold for the sandbox or for each of its processes."""

    timeout: float
    max_output: int
    config: dict[str, Any]


class HostGone(Exception):
    """Nobody waits for the answer any more."""


class Watch:
    """Follows one command: collects its output, and says when and why it must be ended."""

    def __init__(
        self, tree: ProcessTree, bounds: Bounds, host: int, is_host_gone: Callable[[], bool]
    ) -> None:
        self._tree = tree
        self._bounds = bounds
        self._host = host
        self._is_host_gone = is_host_gone
        self._output = BoundedOutput(bounds.max_output)

    def follow(self, ended: int, stream: int) -> str:
        """Read `stream` until `ended` is readable; the answer is why to end the command, or empty.

        Raises HostGone.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ, "output")
            selector.register(ended, selectors.EVENT_READ, "end")
            selector.register(self._host, selectors.EVENT_READ, "host")
            return self._loop(selector, stream)

    def drain(self, stream: int) -> bool:
        """Take what is there now; True if more may come."""
        drained = 0
        while drained < MOST_IN_A_PIPE:
            try:
                data = os.read(stream, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._output.feed(data)
            drained += len(data)
        return True

    def outcome(self, exit_code: int, reason: str) -> Outcome:
        """Put together. A negative exit code is a signal's."""
        code = 128 - exit_code if exit_code < 0 else exit_code
        text, cut = self._output.render(), self._output.truncated
        if reason == "timeout":
            return Outcome(None, text, cut, timed_out=True)
        return Outcome(code, text, cut, note=reason)

    def make_room(self, start: Callable[[], int]) -> int:
        """Start a process; where the process limit forbids it, everything that runs is ended first."""
        try:
            return start()
        except BlockingIOError:
            self._tree.end(frozenset())
            return start()

    def _loop(self, selector: selectors.BaseSelector, stream: int) -> str:
        deadline = time.monotonic() + self._bounds.timeout
        look = time.monotonic() + _GUARD_SECONDS
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "timeout"
            if now >= look:
                if self._tree.holds_more_than(self._bounds.config["memory_bytes"]):
                    return "ended: out of memory"
                look = now + _GUARD_SECONDS
            events = {key.data for key, _ in selector.select(min(deadline, look) - now)}
            if "host" in events and self._is_host_gone():
                raise HostGone
            if "output" in events and not self._read_some(stream):
                selector.unregister(stream)
            if self._is_flood():
                return "ended: too much output"
            if "end" in events:
                return ""

    def _read_some(self, stream: int) -> bool:
        """Take what one read gives; False at the end of the stream."""
        try:
            data = os.read(stream, _CHUNK)
        except BlockingIOError:
            return True
        self._output.feed(data)
        return bool(data)

    def _is_flood(self) -> bool:
        return self._output.total > int(self._bounds.config["flood_bytes"])


def run_fresh(
    tree: ProcessTree, watch: Watch, script: str, config: dict[str, Any]
) -> tuple[Outcome, int | None]:
    """Run a script in a shell of its own.

    What it started in the background lives on; then the read end of its output is given back to be drained.
    Raises HostGone, OSError where no process can be started.
    """
    before = tree.members()
    stream, write_end = os.pipe()
    os.set_blocking(stream, False)
    try:
        with _argument(script) as (argument, extra):
            child = watch.make_room(lambda: start(argument, (write_end, write_end), config, extra))
    finally:
        os.close(write_end)
    handle = os.pidfd_open(child)
    try:
        reason = watch.follow(handle, stream)
    finally:
        os.close(handle)
    if reason:
        tree.end(before)
    exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if watch.drain(stream):
        return watch.outcome(exit_code, reason), stream
    os.close(stream)
    return watch.outcome(exit_code, reason), None


@contextlib.contextmanager
def _argument(script: str) -> Iterator[tuple[str, list[int]]]:
    """What bash gets as its argument, and a file in memory with the script where it is too long for that."""
    content = os.fsencode(script)
    if len(content) <= _LONGEST_ARGUMENT:
        yield script, []
        return
    with os.fdopen(os.memfd_create("script"), "wb") as file:
        file.write(content)
        file.flush()
        yield _FROM_FILE, [file.fileno()]


def start(script: str, streams: tuple[int, int], config: dict[str, Any], extra: Sequence[int] = ()) -> int:
    """Fork a bash inside the sandbox; `extra` become its descriptors 3, 4, … Raises BlockingIOError."""
    child = os.fork()
    if child == 0:
        _become_bash(script, streams, config, extra)
    return child


def _become_bash(script: str, streams: tuple[int, int], config: dict[str, Any], extra: Sequence[int]) -> None:
    """Runs in the child, inside the sandbox, and does not return."""
    try:
        os.setsid()
        wanted = [os.open("/dev/null", os.O_RDONLY), *streams, *extra]
        # Moved out of the way first, so that no descriptor is overwritten before it is copied.
        moved = [_above(descriptor) for descriptor in wanted]
        for number, descriptor in enumerate(moved):
            os.dup2(descriptor, number)
        os.closerange(len(moved), 1 << 16)
        _limit(config)
        for name in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):
            signal.signal(name, signal.SIG_DFL)
        os.umask(0o022)
        os.execve(BASH, ["bash", "-c", script], config["environment"])
    except OSError as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{BASH}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _above(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64)


def _limit(config: dict[str, Any]) -> None:
    for kind, value in (
        (resource.RLIMIT_NPROC, config["processes"]),
        (resource.RLIMIT_AS, config["memory_bytes"]),
        (resource.RLIMIT_CPU, config["cpu_seconds"]),
        (resource.RLIMIT_FSIZE, config["file_bytes"]),
        (resource.RLIMIT_NOFILE, config["open_files"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
