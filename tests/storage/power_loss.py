"""Power loss, simulated: what is asked of the system is recorded, and any of its unsynced part may be lost.

The rules are those of POSIX, read strictly. A write lasts after its file was synced; until then it may be
there, be missing, be torn, or be zeros, whatever became of writes before and after it. A name (of a new, a
renamed or a deleted file, of a folder) lasts after the folder that holds it was synced.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest

from perdure.storage import files

Inode: TypeAlias = int | str
"""A file by number, a folder by its path."""
Entries: TypeAlias = dict[str, Inode]


class Killed(BaseException):
    """The process ends here; nothing of it runs any more."""


@dataclass(frozen=True)
class Op:
    """One thing asked of the system. `target` is a file's inode, or the folder of a name."""

    kind: str  # write, truncate, sync, names, sync_folder, acknowledged, or idle
    target: Inode = ""
    place: int = 0
    data: bytes = b""
    names: tuple[tuple[str, Inode | None], ...] = ()
    """What names mean from here on; None for a deleted one."""
    label: str = ""
    """When and where: `commit ledger.jsonl`."""
    fact: tuple[str, int] = ("", 0)


@dataclass
class Recorder:
    """Stands in for `os` in `perdure.storage.files`; carries everything out and keeps it."""

    root: Path
    ops: list[Op] = field(default_factory=list)
    phase: str = ""
    kill_at: int | None = None
    _inodes: dict[str, int] = field(default_factory=dict)
    _open: dict[int, str] = field(default_factory=dict)
    _made: int = 0
    _lock: Any = field(default_factory=threading.RLock)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def acknowledge(self, kind: str, value: int) -> None:
        """Somebody was told that so much is safe."""
        self._keep(Op("acknowledged", fact=(kind, value)))

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        with self._lock:
            name = self._name(path)
            new = not os.path.exists(path)
            descriptor = os.open(path, flags, mode)
            self._open[descriptor] = name
            if new:
                self._made += 1
                self._inodes[name] = self._made
                self._keep(self._names(path, (Path(name).name, self._made)))
            elif flags & os.O_TRUNC:
                self._keep(Op("truncate", self._inodes[name], label=self._label(name)))
            return descriptor

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        with self._lock:
            name = self._open[descriptor]
            self._keep(Op("write", self._inodes[name], offset, data, label=self._label(name)))
            return os.pwrite(descriptor, data, offset)

    def ftruncate(self, descriptor: int, size: int) -> None:
        with self._lock:
            name = self._open[descriptor]
            self._keep(Op("truncate", self._inodes[name], size, label=self._label(name)))
            os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        with self._lock:
            name = self._open[descriptor]
            if name in self._inodes:
                self._keep(Op("sync", self._inodes[name], label=self._label(name)))
            else:
                self._keep(Op("sync_folder", name, label=self._label(f"{name}/")))

    def replace(self, source: Path, target: Path) -> None:
        with self._lock:
            inode = self._inodes[self._name(source)]
            self._keep(self._names(target, (Path(source).name, None), (Path(target).name, inode)))
            self._inodes[self._name(target)] = self._inodes.pop(self._name(source))
            os.replace(source, target)

    def unlink(self, path: Path) -> None:
        with self._lock:
            if os.path.exists(path):
                self._keep(self._names(path, (Path(path).name, None)))
            os.unlink(path)

    def makedirs(self, path: Path, exist_ok: bool = False) -> None:
        with self._lock:
            self._keep(self._names(path, (Path(path).name, self._name(path))))
            os.makedirs(path, exist_ok=exist_ok)

    def _keep(self, op: Op) -> None:
        if self.kill_at is not None and len(self.ops) >= self.kill_at:
            raise Killed
        self.ops.append(op)

    def _names(self, path: Path, *names: tuple[str, Inode | None]) -> Op:
        folder = self._name(Path(path).parent)
        return Op("names", folder, names=names, label=self._label(f"{folder}/"))

    def _name(self, path: Path) -> str:
        return str(Path(path).relative_to(self.root))

    def _label(self, name: str) -> str:
        parts = ["*" if part.endswith(".tmp") or part[:1].isdigit() else part for part in name.split("/")]
        return f"{self.phase} {'/'.join(parts)}".strip()


@contextmanager
def recording(root: Path, kill_at: int | None = None, before: Recorder | None = None) -> Iterator[Recorder]:
    """Record everything below `root`, going on from the process `before`; SIGKILL at an op where wanted."""
    recorder = before or Recorder(root)
    recorder.kill_at = kill_at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "os", recorder)
        patch.setattr(files, "write_at", recorder.write_at)
        yield recorder


class Machine:
    """What is on the disk, and what is not yet, after some ops."""

    def __init__(self) -> None:
        self.facts: dict[str, int] = {}
        """What was acknowledged."""
        self._content: dict[Inode, bytes] = {}
        self._entries: dict[str, Entries] = {".": {}}
        self._unsynced: dict[Inode, list[Op]] = {}

    def take(self, op: Op) -> None:
        """Carry one op out."""
        if op.kind == "idle":
            return
        if op.kind == "acknowledged":
            self.facts[op.fact[0]] = op.fact[1]
        elif op.kind == "sync":
            self._content[op.target] = written(
                self._content.get(op.target, b""), self._unsynced.pop(op.target, [])
            )
        elif op.kind == "sync_folder":
            self._entries[str(op.target)] = named(
                self._entries.get(str(op.target), {}), self._unsynced.pop(op.target, [])
            )
        else:
            self._unsynced.setdefault(op.target, []).append(op)

    def crash(self, draw: Random, into: Path) -> None:
        """Lay down in an empty folder what may be left when the power goes now."""
        chance = draw.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])

        def left(target: Inode) -> list[Op]:
            ops = [op for op in self._unsynced.get(target, []) if draw.random() < chance]
            if draw.random() < 0.2:
                draw.shuffle(ops)
            return ops

        def lay(folder: str, there: Path) -> None:
            there.mkdir(exist_ok=True)
            for name, inode in named(self._entries.get(folder, {}), left(folder)).items():
                if isinstance(inode, str):
                    lay(inode, there / name)
                else:
                    ops = [torn(op, draw) for op in left(inode)]
                    (there / name).write_bytes(written(self._content.get(inode, b""), ops))

        lay(".", into)


def written(content: bytes, ops: list[Op]) -> bytes:
    """A file after writes and truncations; a hole reads as zeros."""
    found = bytearray(content)
    for op in ops:
        end = op.place + len(op.data)
        found.extend(bytes(max(0, end - len(found))))
        if op.kind == "truncate":
            del found[op.place :]
        else:
            found[op.place : end] = op.data
    return bytes(found)


def named(entries: Entries, ops: list[Op]) -> Entries:
    """A folder after its names were changed."""
    found = dict(entries)
    for op in ops:
        for name, inode in op.names:
            if inode is None:
                found.pop(name, None)
            else:
                found[name] = inode
    return found


def torn(op: Op, draw: Random) -> Op:
    """A write of which perhaps only a part was done; the rest is missing or zeros."""
    if op.kind != "write" or draw.random() < 0.6:
        return op
    cut = draw.randrange(len(op.data) + 1)
    rest = bytes(len(op.data) - cut) if draw.random() < 0.5 else b""
    return Op(op.kind, op.target, op.place, op.data[:cut] + rest, label=op.label)


def crashes(
    ops: list[Op], points: int, draw: Random, scratch: Callable[[], Path]
) -> Iterator[tuple[Path, dict[str, int]]]:
    """Random crashes of a recorded run: a folder that is left, and what had been acknowledged."""
    machine, at = Machine(), 0
    for point in sorted(draw.randrange(len(ops) + 1) for _ in range(points)):
        for op in ops[at:point]:
            machine.take(op)
        at = point
        there = scratch()
        machine.crash(draw, there)
        yield there, dict(machine.facts)
