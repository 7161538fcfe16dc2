"""No test may hold more memory than this: a runaway loop then fails one test instead of the machine.

Counted is what this process and all its descendants hold together, sampled from /proc by a thread. Who holds
too much is interrupted wherever it is; a child that holds most of it is killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

_SECONDS = 0.2
_PATIENCE = 50
"""Samples after which a test that does not give way ends the whole process."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SIGNAL = signal.SIGUSR2


class MemoryLimit(threading.Thread):
    """Watches the test that is running; `limit` in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(daemon=True, name="memory limit")
        self.limit = limit
        self.test = ""
        self.breach = ""
        self._over = 0

    def run(self) -> None:
        """Sample until the process ends."""
        signalled = threading.main_thread().ident
        while not threading.Event().wait(_SECONDS):
            if not self.test:
                continue
            held = held_bytes(self.limit)
            if sum(held.values()) <= self.limit:
                self._over = 0
                continue
            self._over += 1
            if self._over == 1 and signalled is not None:
                mib = sum(held.values()) >> 20
                self.breach = (
                    f"{self.test} holds {mib:,} MiB; no test may hold more than {self.limit >> 20:,}"
                )
                _kill_the_largest_child(held)
                signal.pthread_kill(signalled, _SIGNAL)
            elif self._over > _PATIENCE:
                os.write(2, f"\n{self.breach}, and it does not end\n".encode())
                os._exit(70)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signal: fails what the main thread is doing."""
        if self.test:
            pytest.fail(self.breach)


def held_bytes(limit: int) -> dict[int, int]:
    """Memory of this process and its descendants, by process id.

    Pages that several of them share are counted several times, unless that would be more than `limit`: the
    exact number takes longer.
    """
    processes = (os.getpid(), *_descendants(os.getpid()))
    held = {pid: _resident(pid) for pid in processes}
    if sum(held.values()) > limit:
        held = {pid: _proportional(pid) or count for pid, count in held.items()}
    return held


def _descendants(root: int) -> list[int]:
    children = defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                fields = Path("/proc", entry, "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                children[int(fields[1])].append(int(entry))
    found = list(children[root])
    for pid in found:
        found += children[pid]
    return found


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path("/proc", str(pid), "statm").read_text().split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> int:
    with suppress(OSError):
        for line in Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def _kill_the_largest_child(held: dict[int, int]) -> None:
    largest = max(held, key=lambda pid: held[pid])
    if largest != os.getpid():
        with suppress(OSError):
            os.kill(largest, signal.SIGKILL)


LIMIT = pytest.StashKey[MemoryLimit]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The key of the configuration."""
    parser.addini("memory_limit", "MiB that a test and its children may hold together", default="2048")


def pytest_configure(config: pytest.Config) -> None:
    """Start watching, where /proc shows what to watch."""
    limit = config.stash[LIMIT] = MemoryLimit(int(config.getini("memory_limit")) << 20)
    if sys.platform == "linux":
        signal.signal(_SIGNAL, limit.interrupt)
        limit.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Say which test is running."""
    limit = item.config.stash[LIMIT]
    limit.test, limit.breach = item.nodeid, ""
    try:
        return (yield)
    finally:
        limit.test = ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that swallowed the interruption has failed all the same."""
    report = yield
    breach = item.config.stash[LIMIT].breach
    if breach and report.passed:
        report.outcome, report.longrepr = "failed", breach
    return report
