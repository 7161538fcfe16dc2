"""Texts stored once, by content: so the exact prompts of a growing history cost O(T) on disk, not O(T²)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock

from perdure.core.errors import RunFolderError
from perdure.core.types import text_digest
from perdure.storage.files import AppendLog, last_lines, line_at, lines_from

_REMEMBERED = 8192
"""How many of the file's last texts are known without reading all of it: none of them is written again.
Beyond it a repeat costs disk, never correctness. What is written depends on the file alone, not on when it
was opened."""


class BlobWriter:
    """Collects the texts of finished tasks and writes those that are new."""

    def __init__(self, folder: Path) -> None:
        self._log = AppendLog(folder / "texts.jsonl", named=True)
        self._recent: dict[str, None] = {}
        self._pending: dict[str, str] = {}
        self._pending_bytes = 0
        self._recall()

    @property
    def end(self) -> int:
        """Size of the file in bytes once everything pending is written."""
        return self._log.end + self._pending_bytes

    def put(self, text: str, digest: str | None = None) -> str:
        """Take a text and return its address; it is in the file after the next `flush`."""
        digest = digest or text_digest(text)
        if digest not in self._recent:
            self._recent[digest] = None
            line = self._pending[digest] = json.dumps([digest, text])
            self._pending_bytes += len(line) + 1
        return digest

    def forget(self) -> None:
        """What is pending will not be written: its task is owed again."""
        if self._pending:
            self._clear()
            self._recall()

    def trim(self) -> None:
        """A task is complete: only the last texts stay known."""
        for digest in list(islice(self._recent, max(0, len(self._recent) - _REMEMBERED))):
            del self._recent[digest]

    def flush(self, *, sync: bool = True) -> None:
        """Write what is pending in one append. Raises StorageError; then it stays pending."""
        if self._pending:
            self._log.extend(self._pending.values(), sync=sync)
            self._clear()

    def cut(self, end: int) -> None:
        """Forget the texts that no finished task needs. Raises RunFolderError where some are missing."""
        if self._log.end < end:
            raise RunFolderError(
                f"{str(self._log.path)!r} is damaged: it has {self._log.end} bytes, its sessions need {end}"
            )
        if self._log.end > end:
            self._log.truncate(end)
            self._recall()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._log.close()

    def _clear(self) -> None:
        self._pending.clear()
        self._pending_bytes = 0

    def _recall(self) -> None:
        self._recent = dict.fromkeys(_digests(last_lines(self._log.path, _REMEMBERED)))


class BlobReader:
    """Reads texts back by address. Threads may share it. The file is indexed when it is first asked."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "texts.jsonl"
        self._offsets: dict[bytes, int] = {}
        self._indexed = 0
        self._lock = Lock()

    def get(self, digest: str) -> str:
        """The text. Raises RunFolderError where it is missing or is another, ValueError for no address."""
        try:
            key = bytes.fromhex(digest)
        except (ValueError, TypeError):
            raise ValueError(f"{digest!r:.80} is no address of a text") from None
        with self._lock:
            if key not in self._offsets:
                self._index()
            offset = self._offsets.get(key)
        if offset is None:
            raise RunFolderError(f"{str(self._path)!r} does not hold the text {digest!r}")
        try:
            _, text = json.loads(line_at(self._path, offset))
            if not isinstance(text, str) or text_digest(text) != digest:
                raise ValueError("it is not the text of this address")
        except (ValueError, TypeError, RecursionError) as error:
            raise RunFolderError(f"the text {digest!r} in {str(self._path)!r} is damaged: {error}") from error
        return text

    def _index(self) -> None:
        for line in lines_from(self._path, self._indexed):
            for digest in _digests([line]):
                self._offsets.setdefault(bytes.fromhex(digest), self._indexed)
            self._indexed += len(line)


def _digests(lines: Iterable[bytes]) -> list[str]:
    """The addresses of lines. A line is `["<32 hex digits>", "…"]`: it need not be parsed as JSON.

    A damaged one is passed over: only whoever asks for its text needs to know.
    """
    found = []
    for line in lines:
        with suppress(ValueError):
            digest = line[2:34].decode("ascii")
            bytes.fromhex(digest)
            found.append(digest)
    return found
