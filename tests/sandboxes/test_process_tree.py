"""What a keeper sees of the processes below it, on real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.sandboxes.isolation.process_tree import ProcessTree

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")

MIB = 1 << 20
FAMILY = """
import os, sys
if os.fork():
    sys.stdin.read()
    os._exit(0)
held = bytearray(os.urandom(1 << 20) * 64)
for child in range(4):
    if not os.fork():
        break
else:
    print("ready", flush=True)
sys.stdin.read()
"""
"""The keeper; below it a process that holds 64 MiB and four children that share them."""


@pytest.fixture
def tree() -> Iterator[ProcessTree]:
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdin is not None
        assert keeper.stdout.readline() == "ready\n"
        yield ProcessTree(proc, keeper.pid, ())
        keeper.stdin.close()
    os.close(proc)


def test_pages_that_are_shared_since_a_fork_are_counted_once(tree: ProcessTree) -> None:
    assert len(tree.members()) == 5
    assert tree.holds_more_than(60 * MIB)
    assert not tree.holds_more_than(160 * MIB)


def test_where_shares_are_not_told_each_process_counts_whole(
    tree: ProcessTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ProcessTree._read

    def without_shares(self: ProcessTree, path: str) -> bytes:
        if path.endswith("smaps_rollup"):
            raise PermissionError(path)
        return real(self, path)

    monkeypatch.setattr(ProcessTree, "_read", without_shares)
    assert tree.holds_more_than(300 * MIB)
