"""One command inside the sandbox: started, read, ended. Runs in the keeper."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .bounded_output import BoundedOutput
from .process_tree import ProcessTree

_CHUNK = 1 << 16
_GUARD_SECONDS = 0.2
_AFTERMATH_SECONDS = 2.0
_CANNOT_START = 126


@dataclass
class Outcome:
    """What became of a command. `note` says in one line why the sandbox ended it, where it did."""

    exit_code: int | None
    output: bytes
    truncated: bool
    timed_out: bool = False
    note: str = ""


@dataclass(frozen=True)
class Bounds:
    """Limits of one command; the resource limits hold for each of its processes."""

    timeout: float
    max_output: int
    config: dict[str, Any]


class HostGone(Exception):
    """Nobody waits for the answer any more."""


class Command:
    """Runs a program; what it started in the background lives on, and its output goes on being drained."""

    def __init__(self, tree: ProcessTree, bounds: Bounds, is_host_gone: Callable[[], bool], host: int) -> None:
        self._tree = tree
        self._bounds = bounds
        self._is_host_gone = is_host_gone
        self._host = host
        self._output = BoundedOutput(bounds.max_output)

    def run(self, argv: list[str], environment: dict[str, str]) -> tuple[Outcome, int | None]:
        """The outcome, and the read end of its output if some process still holds the other. Raises HostGone."""
        before = self._tree.members()
        read_end, write_end = os.pipe()
        try:
            child = os.fork()
        except BlockingIOError:
            os.close(read_end)
            os.close(write_end)
            return Outcome(_CANNOT_START, b"bash: fork: Resource temporarily unavailable\n", False), None
        if child == 0:
            _become(argv, environment, write_end, self._bounds.config)
        os.close(write_end)
        os.set_blocking(read_end, False)
        reason = self._follow(child, read_end)
        if reason:
            self._tree.end(before)
        status = _reap(child)
        still_open = self._drain(read_end)
        if not still_open:
            os.close(read_end)
        timed_out = reason == "timeout"
        outcome = Outcome(
            None if timed_out else os.waitstatus_to_exitcode(status),
            self._output.render(),
            self._output.truncated,
            timed_out,
            "" if timed_out else reason,
        )
        if outcome.exit_code is not None and outcome.exit_code < 0:
            outcome.exit_code = 128 - outcome.exit_code
        return outcome, read_end if still_open else None

    def _follow(self, child: int, read_end: int) -> str:
        """Read until the child ends; the answer is why it must be ended, or empty."""
        deadline = time.monotonic() + self._bounds.timeout
        handle = os.pidfd_open(child)
        with selectors.DefaultSelector() as selector:
            selector.register(read_end, selectors.EVENT_READ, "output")
            selector.register(handle, selectors.EVENT_READ, "end")
            selector.register(self._host, selectors.EVENT_READ, "host")
            try:
                return self._watch(selector, deadline, read_end)
            finally:
                os.close(handle)

    def _watch(self, selector: selectors.BaseSelector, deadline: float, read_end: int) -> str:
        look = time.monotonic() + _GUARD_SECONDS
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "timeout"
            if now >= look:
                if self._tree.memory() > self._bounds.config["memory_bytes"]:
                    return "ended: out of memory"
                look = now + _GUARD_SECONDS
            events = {key.data for key, _ in selector.select(min(deadline, look) - now)}
            if "host" in events and self._is_host_gone():
                raise HostGone
            if "output" in events and not self._read_some(read_end):
                selector.unregister(read_end)
            if self._output.total > self._bounds.config["flood_bytes"]:
                return "ended: too much output"
            if "end" in events:
                return ""

    def _read_some(self, read_end: int) -> bool:
        """Take what one read gives; False at the end of the stream."""
        try:
            data = os.read(read_end, _CHUNK)
        except BlockingIOError:
            return True
        self._output.feed(data)
        return bool(data)

    def _drain(self, read_end: int) -> bool:
        """Take what is there now; True if more may come."""
        limit = time.monotonic() + _AFTERMATH_SECONDS
        while time.monotonic() < limit:
            try:
                data = os.read(read_end, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._output.feed(data)
            if self._output.total > self._bounds.config["flood_bytes"]:
                return True
        return True


def _reap(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return status


def _become(argv: list[str], environment: dict[str, str], output: int, config: dict[str, Any]) -> None:
    """Runs in the child, inside the sandbox, and does not return."""
    try:
        os.setsid()
        source = os.open("/dev/null", os.O_RDONLY)
        os.dup2(source, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, 1 << 16)
        _limit(config)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        os.execve(argv[0], argv, environment)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


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
