"""Completions on disk, addressed by the digest of their request, shared by processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from json import dumps, loads
from pathlib import Path
from tempfile import NamedTemporaryFile

from perdure.core.errors import ConfigError, StorageError
from perdure.core.outcome_json import decode_outcome, encode_outcome
from perdure.core.types import Completion

_SCHEMA_VERSION = 2
_HEX = frozenset("0123456789abcdef")


class ResponseCache:
    """A folder of completions; satisfies `perdure.core.model.ResponseStore`.

    An entry is written to a temporary file and renamed, so that readers see all of it or nothing, and two
    writers of one entry do no harm. An entry that cannot be read as a completion is a miss, and the next
    `put` replaces it. Files are only ever added; delete the folder to empty the cache.

    `folder`: by default `perdure/responses` in the user's cache folder. Raises ConfigError when it cannot be
    made.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_cache_folder()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the response cache cannot use {str(self.folder)!r}: {error}") from error

    def get(self, digest: str) -> Completion | None:
        """The stored completion, or None. Raises StorageError when the folder cannot be read."""
        try:
            text = self._file(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"the response cache cannot be read: {error}") from error
        try:
            entry = loads(text)
            outcome = decode_outcome(entry["completion"]) if entry["schema"] == _SCHEMA_VERSION else None
            return outcome if isinstance(outcome, Completion) and outcome.finish_reason else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(self, digest: str, completion: Completion) -> None:
        """Store a completion. Raises StorageError when the disk is full or read-only."""
        file = self._file(digest)
        entry = dumps({"schema": _SCHEMA_VERSION, "completion": encode_outcome(completion)}).encode()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=file.parent, prefix=".", suffix=".tmp", delete=False) as temporary:
                try:
                    temporary.write(entry)
                    temporary.flush()
                    os.replace(temporary.name, file)
                except OSError:
                    os.unlink(temporary.name)
                    raise
        except OSError as error:
            raise StorageError(f"the response cache cannot be written: {error}") from error

    def _file(self, digest: str) -> Path:
        if len(digest) < 8 or not _HEX.issuperset(digest):
            raise ValueError(f"a digest is hexadecimal, not {digest!r}")
        return self.folder / digest[:2] / digest[2:4] / f"{digest[4:]}.json"


def default_cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """`$XDG_CACHE_HOME/perdure/responses`, or the same below `~/.cache` (XDG base directories, 0.8).

    The specification ignores a relative `XDG_CACHE_HOME`.
    """
    home = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "perdure" / "responses"
