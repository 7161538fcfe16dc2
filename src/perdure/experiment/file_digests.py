"""Digests of the files that a run reads: tasks, graphs, weights. Those of large files are remembered."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import blake2b, file_digest
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.storage.cache_folder import cache_folder
from perdure.storage.files import seal, unseal

_SMALL = 1 << 20
"""Bytes; a smaller file is read faster than its remembered digest is found."""
_SETTLED_SECONDS = 2.0
"""A younger file may change again within the resolution of its time stamp: it is not remembered."""


def digest_of(path: Path) -> str:
    """32 hex digits of a file's content, or of a folder's files and their names.

    Of a run folder only the sessions count. Raises ConfigError for what cannot be read.
    """
    try:
        if not path.is_dir():
            return _file(path)
        if (path / "sessions.jsonl").is_file():
            return _file(path / "sessions.jsonl")
        files = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        listing = [[file, _file(path / file)] for file in files]
        return _blake(json.dumps(listing).encode())
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _file(path: Path) -> str:
    found = path.stat()
    if found.st_size < _SMALL:
        return _blake(path.read_bytes())
    kept = _place(path)
    stamp = [found.st_size, found.st_mtime_ns, found.st_ino]
    if kept is not None and (remembered := _remembered(kept, stamp)) is not None:
        return remembered
    with path.open("rb") as file:
        digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    if kept is not None and time.time() - found.st_mtime > _SETTLED_SECONDS:
        with suppress(OSError):  # where nothing can be kept, the file is read each time
            kept.parent.mkdir(parents=True, exist_ok=True)
            temporary = kept.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(seal({"file": stamp, "digest": digest}), "utf-8")
            temporary.replace(kept)
    return digest


def _place(path: Path) -> Path | None:
    """Where a file's digest is remembered; None for a user without a home."""
    try:
        return cache_folder("digests") / f"{_blake(os.fsencode(path.resolve()))}.json"
    except ConfigError:
        return None


def _remembered(kept: Path, stamp: list[int]) -> str | None:
    try:
        entry = unseal(kept.read_bytes()) or {}
    except OSError:
        return None
    digest: str | None = entry.get("digest") if entry.get("file") == stamp else None
    return digest


def _blake(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
