"""Files that survive a crash: append-only logs, sealed lines, atomic replacement, the lock on a folder.

Every change of a run folder goes through this module. A write is durable after its file was synced, a new or
replaced name after its folder was synced too: POSIX promises no more, and no more is assumed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from perdure.core.errors import RunFolderError, StorageError
from perdure.core.types import JSON
from perdure.storage.file_lock import acquire

_CHUNK = 1 << 20
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode
_SEAL = re.compile(rb',\s*"crc":\s?"([0-9a-f]{16})"\s*\}\n?\Z')
_SEAL_ROOM = 64
"""Bytes at the end of a text in which its seal stands."""


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """A full disk or a read-only folder is one clear line, not a traceback."""
    try:
        yield
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write {str(path)!r}: {error.strerror or error}; what was saved is intact, "
        "run the same command again once there is room"
    )


class AppendLog:
    """A file of lines that only grows. Opening it drops a torn last line: its writer died in the middle.

    `named`: whoever opens it sees to the name in its folder; else the first sync does.
    """

    def __init__(self, path: Path, *, named: bool = False) -> None:
        self.path = path
        self._named = named
        with storage_errors(path):
            make_folder(path.parent, sync=False)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._end = self._drop_torn_line()

    @property
    def end(self) -> int:
        """Size in bytes; where the next line will start."""
        return self._end

    def append(self, line: str, *, sync: bool = False) -> int:
        """Add one line (without its newline) and return its offset. All or nothing. Raises StorageError."""
        return self.extend([line], sync=sync)

    def extend(self, lines: Iterable[str], *, sync: bool = False) -> int:
        """Add lines in one write and return the offset of the first. All or nothing. Raises StorageError."""
        data = "".join(f"{line}\n" for line in lines).encode("ascii")
        offset = self._end
        try:
            written = 0
            while written < len(data):
                written += write_at(self._fd, data[written:], offset + written)
            if sync:
                self._sync()
        except BaseException as error:
            with storage_errors(self.path):
                os.ftruncate(self._fd, offset)
            raise (_unwritten(self.path, error) if isinstance(error, OSError) else error) from error
        self._end = offset + len(data)
        return offset

    def sync(self) -> None:
        """Force everything appended so far, and the file's name, to the disk. Raises StorageError."""
        with storage_errors(self.path):
            self._sync()

    def truncate(self, end: int) -> None:
        """Forget every byte from `end` on; a file that ends there is left alone."""
        with storage_errors(self.path):
            if os.fstat(self._fd).st_size != end:
                os.ftruncate(self._fd, end)
        self._end = end

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _sync(self) -> None:
        """Also of the name, once: a process that was killed may have left it unsynced."""
        _sync_descriptor(self._fd)
        if not self._named:
            sync_folder(self.path.parent)
            self._named = True

    def _drop_torn_line(self) -> int:
        size = os.fstat(self._fd).st_size
        end = size
        while end:
            start = max(0, end - _CHUNK)
            newline = _read_at(self._fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._fd, end)
        return end


_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


def seal(fields: Mapping[str, JSON], *, indent: int | None = None) -> str:
    """An object as JSON that checks itself: its last key, `crc`, is BLAKE2b over what stands before it."""
    if indent is None:
        body = _COMPACT(fields)[:-1]
        return f'{body},"crc":"{_crc(body.encode("ascii"))}"}}'
    body = json.dumps(fields, indent=indent)[:-2]
    return f'{body},\n{" " * indent}"crc": "{_crc(body.encode("ascii"))}"\n}}'


def is_sealed(text: bytes) -> bool:
    """Whether a text is as `seal` wrote it: a slice and a hash, nothing is parsed."""
    tail = text[-_SEAL_ROOM:]
    found = _SEAL.search(tail)
    if found is None:
        return False
    body = text[: len(text) - len(tail) + found.start()]
    return found[1] == _crc(body).encode("ascii")


def unseal(line: bytes) -> dict[str, JSON] | None:
    """The object that `seal` wrote, or None for what is not as it was written."""
    if not is_sealed(line):
        return None
    try:
        fields = parse_object(line)
    except ValueError:
        return None
    del fields["crc"]
    return fields


def parse_object(text: bytes | str) -> dict[str, JSON]:
    """A JSON object. Raises ValueError for anything else, nested too deeply included."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return found


def seal_lines(text: str) -> str:
    """A text with a last line, a comment in TOML, that checks what stands before it."""
    return f'{text}# crc = "{_crc(text.encode("utf-8"))}"\n'


def unseal_lines(content: bytes) -> str | None:
    """The text that `seal_lines` got, or None for what is not as it was written."""
    body = content[: content.rfind(b"# crc = ")]
    if content != body + f'# crc = "{_crc(body)}"\n'.encode():
        return None
    return body.decode("utf-8", "replace")


def read_sealed(path: Path) -> dict[str, JSON] | None:
    """A file that holds one sealed object, or None where there is none. Raises RunFolderError for damage."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    if (fields := unseal(text)) is None:
        raise RunFolderError(f"{str(path)!r} cannot be read: it is not what was written: its crc differs")
    return fields


def _crc(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def line_offsets(path: Path, start: int = 0) -> Iterator[int]:
    """Offsets of the complete lines from a byte offset on, read in chunks; nothing where there is no file.

    Raises RunFolderError for a file that cannot be read.
    """
    position = start
    try:
        with path.open("rb") as file:
            file.seek(start)
            while chunk := file.read(_CHUNK):
                found = chunk.find(b"\n")
                while found >= 0:
                    yield start
                    start = position + found + 1
                    found = chunk.find(b"\n", found + 1)
                position += len(chunk)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunFolderError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def lines_from(path: Path, start: int = 0) -> Iterator[bytes]:
    """The complete lines from a byte offset on, each with its newline; nothing where there is no file.

    Raises RunFolderError for a file that cannot be read.
    """
    if not os.path.lexists(path):
        return
    with reading(path) as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield line


def line_at(path: Path, offset: int) -> bytes:
    """The line that starts at a byte offset. Raises RunFolderError for a file that cannot be read."""
    with reading(path) as file:
        file.seek(offset)
        return file.readline()


def last_lines(path: Path, count: int) -> list[bytes]:
    """The last complete lines of a file, oldest first; at most `count`, read from its end."""
    with reading(path) as file:
        position = file.seek(0, os.SEEK_END)
        tail = b""
        while position and tail.count(b"\n") <= count:
            step = min(_CHUNK, position)
            position -= step
            file.seek(position)
            tail = file.read(step) + tail
    complete, _, _ = tail.rpartition(b"\n")
    return complete.split(b"\n")[-count:] if complete else []


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """An open file. Raises RunFolderError for one that cannot be read: a directory, a forbidden one."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise RunFolderError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def replace_atomically(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write a file so that a reader sees the old or the new content, never a part. Raises StorageError.

    Without `sync` the new content may be lost with the machine's power, but never to a killed process.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    with storage_errors(path):
        make_folder(path.parent, sync=sync)
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                written = 0
                while written < len(data):
                    written += write_at(descriptor, data[written:], written)
                if sync:
                    _sync_descriptor(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, path)
            if sync:
                sync_folder(path.parent)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)


def move_aside(path: Path, target: Path) -> None:
    """Give a file another name, for good. Raises StorageError."""
    with storage_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            _sync_descriptor(descriptor)
        finally:
            os.close(descriptor)
        os.replace(path, target)
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Delete a file, if it is there. Raises StorageError."""
    with storage_errors(path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def make_folder(folder: Path, *, sync: bool = True) -> None:
    """Make a folder and what leads to it; new names are synced. Raises OSError."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        os.makedirs(new, exist_ok=True)  # another process may have been quicker
        if sync:
            sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Windows has no such call, and needs none. Raises OSError."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _sync_descriptor(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # its fsync leaves data in the drive's own cache
    else:
        os.fsync(descriptor)


def write_at(descriptor: int, data: bytes, offset: int) -> int:
    """Write at an offset; how many bytes were taken."""
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, data)
    return os.pwrite(descriptor, data, offset)


def _read_at(descriptor: int, size: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


class FolderLock:
    """Keeps a second process out of a run folder; the system frees it when its holder dies."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with storage_errors(path):
            make_folder(folder)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            acquire(self._fd)
        except OSError as error:
            os.close(self._fd)
            self._fd = -1
            raise RunFolderError(f"run folder {str(folder)!r} is in use by another process") from error

    def release(self) -> None:
        """Let others in. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
