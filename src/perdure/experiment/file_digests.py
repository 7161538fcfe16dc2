"""Digests of the files that a run reads: tasks, graphs, weights. Those of large files are remembered."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import blake2b, file_digest
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.core.types import JSON

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
    kept = _cache_folder() / f"{_blake(os.fsencode(path.resolve()))}.json"
    stamp = [found.st_size, found.st_mtime_ns, found.st_ino]
    if (remembered := _remembered(kept, stamp)) is not None:
        return remembered
    with path.open("rb") as file:
        digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    if time.time() - found.st_mtime > _SETTLED_SECONDS:
        with suppress(OSError):  # where nothing can be kept, the file is read each time
            kept.parent.mkdir(parents=True, exist_ok=True)
            temporary = kept.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps([stamp, digest]), "utf-8")
            temporary.replace(kept)
    return digest


def _remembered(kept: Path, stamp: list[int]) -> str | None:
    try:
        entry: JSON = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        return None
    if isinstance(entry, list) and len(entry) == 2 and entry[0] == stamp and isinstance(entry[1], str):
        return entry[1]
    return None


def _blake(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _cache_folder() -> Path:
    """`$XDG_CACHE_HOME/perdure/digests`, or the same below `~/.cache` (XDG base directories, 0.8)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "perdure" / "digests"
