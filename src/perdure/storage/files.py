"""Files that survive a crash: append-only logs, sealed lines, atomic replacement, the lock on a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from perdure.core.errors import RunFolderError, StorageError
from perdure.core.types import JSON
from perdure.storage.file_lock import acquire

_CHUNK = 1 << 20
_SEAL = b',"crc":"'
_SEAL_SIZE = len(_SEAL) + 16 + len(b'"}')


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """A full disk or a read-only folder is one clear line, not a traceback."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {str(path)!r}: {error.strerror or error}; what was saved is intact, "
            "run the same command again once there is room"
        ) from error


class AppendLog:
    """A file of lines that only grows. Opening it drops a torn last line: its writer died in the middle."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._end = self._drop_torn_line()

    @property
    def end(self) -> int:
        """Size in bytes; where the next line will start."""
        return self._end

    def append(self, line: str, *, sync: bool = False) -> int:
        """Add one line (without its newline) and return its offset. All or nothing. Raises StorageError."""
        data = line.encode("ascii") + b"\n"
        offset = self._end
        with _storage_errors(self.path):
            try:
                written = 0
                while written < len(data):
                    written += os.pwrite(self._fd, data[written:], offset + written)
                if sync:
                    os.fsync(self._fd)
            except BaseException:
                os.ftruncate(self._fd, offset)
                raise
        self._end = offset + len(data)
        return offset

    def sync(self) -> None:
        """Force everything appended so far to the disk."""
        with _storage_errors(self.path):
            os.fsync(self._fd)

    def truncate(self, end: int) -> None:
        """Forget every byte from `end` on."""
        with _storage_errors(self.path):
            os.ftruncate(self._fd, end)
        self._end = end

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _drop_torn_line(self) -> int:
        size = os.fstat(self._fd).st_size
        end = size
        while end:
            start = max(0, end - _CHUNK)
            newline = os.pread(self._fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._fd, end)
        return end


def seal(fields: Mapping[str, JSON]) -> str:
    """An object as a line that checks itself: its last key, `crc`, is BLAKE2b over what stands before it."""
    body = json.dumps(fields, separators=(",", ":"))[:-1]
    return f'{body}{_SEAL.decode()}{_crc(body.encode("ascii"))}"}}'


def is_sealed(line: bytes) -> bool:
    """Whether a line is as `seal` wrote it: a slice and a hash, nothing is parsed."""
    text = line.rstrip(b"\n")
    body = text[:-_SEAL_SIZE]
    return text[-_SEAL_SIZE:] == _SEAL + _crc(body).encode("ascii") + b'"}'


def parse_object(text: bytes | str) -> dict[str, JSON]:
    """A JSON object. Raises ValueError for anything else, nested too deeply included."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return found


def _crc(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def line_offsets(path: Path) -> Iterator[int]:
    """Offsets of the complete lines of a file, read in chunks; nothing for a file that does not exist.

    Raises RunFolderError for a file that cannot be read.
    """
    start = position = 0
    try:
        with path.open("rb") as file:
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


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """An open file. Raises RunFolderError for one that cannot be read: a directory, a forbidden one."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise RunFolderError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def replace_atomically(path: Path, text: str, *, sync: bool = True) -> None:
    """Write a file so that a reader sees the old or the new content, never a part. Raises StorageError.

    Without `sync` the new content may be lost with the machine's power, but is never torn.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


class FolderLock:
    """Keeps a second process out of a run folder; the system frees it when its holder dies."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with _storage_errors(path):
            folder.mkdir(parents=True, exist_ok=True)
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
