"""Completions on disk, addressed by the digest of their request, shared by processes."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from perdure.core.errors import ConfigError, StorageError
from perdure.core.outcome_json import decode_outcome, encode_outcome
from perdure.core.types import Completion
from perdure.storage.cache_folder import cache_folder
from perdure.storage.files import seal, unseal

_SCHEMA_VERSION = 3
_HEX = frozenset("0123456789abcdef")


class ResponseCache:
    """A folder of completions; satisfies `perdure.core.model.ResponseStore`.

    An entry is written to a temporary file and renamed, so that readers see all of it or nothing, and two
    writers of one entry do no harm. Entries are sealed: one that is not as it was written is a miss, and the
    next `put` replaces it. Files are only ever added; delete the folder to empty the cache.

    `folder`: by default `perdure/responses` in the user's cache folder. Raises ConfigError when it cannot be
    made.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else cache_folder("responses")
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
        entry = unseal(text) or {}
        # The entry names its request: one that lies in another's place is none either.
        if (entry.get("schema"), entry.get("request")) != (_SCHEMA_VERSION, digest):
            return None
        try:
            outcome = decode_outcome(entry["completion"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return outcome if isinstance(outcome, Completion) and outcome.finish_reason else None

    def put(self, digest: str, completion: Completion) -> None:
        """Store a completion. Raises StorageError when the disk is full or read-only."""
        file = self._file(digest)
        body = {"schema": _SCHEMA_VERSION, "request": digest, "completion": encode_outcome(completion)}
        entry = seal(body).encode()
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
