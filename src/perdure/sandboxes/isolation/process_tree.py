"""The processes of a sandbox as its keeper sees them from outside, where nothing inside can reach or hide.

Needs the `children` files of /proc (CONFIG_PROC_CHILDREN, on in every distribution's kernel).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Set

_ROUNDS = 200
_PAUSE = 0.001
_PF_EXITING = 0x4
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class ProcessTree:
    """Descendants of the keeper, read through a handle of the outer /proc opened before it went inside."""

    def __init__(self, proc: int, keeper: int, hidden: Collection[int]) -> None:
        self._proc = proc
        self._keeper = keeper
        self._hidden = frozenset(hidden)

    def members(self, *, but_not_below: Set[int] = frozenset(), within: Collection[int] = ()) -> set[int]:
        """Ids (outside) of every process inside but the first.

        Subtrees of `but_not_below` are left out, except what is below one of `within`.
        """
        found: set[int] = set()
        frontier = [self._keeper, *self._hidden, *within]
        while frontier:
            for child in self._children(frontier.pop()):
                if child in found or child in self._hidden or child in but_not_below:
                    continue
                found.add(child)
                frontier.append(child)
        return found

    def end(self, spared: Set[int], *, within: Collection[int] = ()) -> None:
        """Kill every process that `spared` neither holds nor is an ancestor of; children of `within` too.

        All of them are stopped first, so that none can start another while the others are killed.
        """
        stopped: set[int] = set()
        for _ in range(_ROUNDS):
            targets = self._targets(spared, within)
            if targets <= stopped:
                break
            for process in targets - stopped:
                _send(process, signal.SIGSTOP)
            stopped |= targets
        for _ in range(_ROUNDS):
            targets = self._targets(spared, within)
            if not targets:
                return
            for process in targets:
                _send(process, signal.SIGKILL)
            time.sleep(_PAUSE)

    def is_ending(self, process: int) -> bool:
        """Whether a process is gone, or is being taken down by the kernel (flags in man 5 proc_pid_stat)."""
        try:
            fields = self._read(f"{process}/stat").rpartition(b")")[2].split()
        except OSError:
            return True
        return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _PF_EXITING)

    def holds_more_than(self, limit: int) -> bool:
        """Whether the anonymous memory of all members together is more than so many bytes.

        Pages that processes share since a fork are counted once.
        """
        members = self.members()
        # Adding up what each one maps is quick and never too little: only then is it worth to look closer.
        if sum(map(self._mapped, members)) <= limit:
            return False
        return sum(map(self._share, members)) > limit

    def _mapped(self, process: int) -> int:
        """Bytes of anonymous memory that a process maps, shared or not (statm in man 5 proc_pid_statm)."""
        try:
            _, resident, shared = self._read(f"{process}/statm").split()[:3]
            return (int(resident) - int(shared)) * _PAGE
        except (OSError, ValueError):
            return 0

    def _share(self, process: int) -> int:
        """The same, each page divided among those that map it (Linux 5.4); undivided where it is not told."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in self._read(f"{process}/smaps_rollup").splitlines():
                if line.startswith(b"Pss_Anon:"):
                    return int(line.split()[1]) << 10
        return self._mapped(process)

    def _targets(self, spared: Set[int], within: Collection[int]) -> set[int]:
        targets = self.members(but_not_below=spared, within=within)
        return {process for process in targets if not self.is_ending(process)}

    def _children(self, process: int) -> list[int]:
        children: list[int] = []
        try:
            threads = self._threads(process)
        except OSError:
            return children
        for thread in threads:
            with contextlib.suppress(OSError):
                children += map(int, self._read(f"{process}/task/{thread}/children").split())
        return children

    def _threads(self, process: int) -> list[str]:
        folder = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            return os.listdir(folder)
        finally:
            os.close(folder)

    def _read(self, path: str) -> bytes:
        file = os.open(path, os.O_RDONLY, dir_fd=self._proc)
        try:
            pieces = []
            while piece := os.read(file, 1 << 16):
                pieces.append(piece)
            return b"".join(pieces)
        finally:
            os.close(file)


def _send(process: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, what)
