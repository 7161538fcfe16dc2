"""Texts stored once, by content: so the exact prompts of a growing history cost O(T) on disk, not O(T²)."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from perdure.core.errors import RunFolderError
from perdure.core.types import text_digest
from perdure.storage.files import AppendLog, reading

_REMEMBERED = 8192
"""Digests kept in memory to avoid writing a text twice. Beyond it a repeat costs disk, never correctness."""


class BlobWriter:
    """Collects the texts of one task and writes those that are new."""

    def __init__(self, folder: Path) -> None:
        self._log = AppendLog(folder / "texts.jsonl")
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._pending: dict[str, str] = {}

    def put(self, text: str, digest: str | None = None) -> str:
        """Take a text and return its address; it is on disk after the next `flush`."""
        digest = digest or text_digest(text)
        if digest in self._seen:
            self._seen.move_to_end(digest)
        else:
            self._pending[digest] = text
        return digest

    def flush(self, *, sync: bool = True) -> None:
        """Write what is pending in one append. Raises StorageError; then it stays pending."""
        if not self._pending:
            return
        self._log.append("\n".join(json.dumps(item) for item in self._pending.items()), sync=sync)
        for digest in self._pending:
            self._seen[digest] = None
        self._pending.clear()
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._log.close()


class BlobReader:
    """Reads texts back by address; indexes the file when first asked, and again when it has grown."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "texts.jsonl"
        self._offsets: dict[bytes, int] = {}
        self._indexed = 0

    def get(self, digest: str) -> str:
        """The text. Raises RunFolderError where it is missing or is another, ValueError for no address."""
        try:
            key = bytes.fromhex(digest)
        except (ValueError, TypeError):
            raise ValueError(f"{digest!r:.80} is no address of a text") from None
        if key not in self._offsets:
            self._index()
        try:
            offset = self._offsets[key]
        except KeyError:
            raise RunFolderError(f"{str(self._path)!r} does not hold the text {digest!r}") from None
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                line = file.readline()
            _, text = json.loads(line)
            if not isinstance(text, str) or text_digest(text) != digest:
                raise ValueError("it is not the text of this address")
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise RunFolderError(f"the text {digest!r} in {str(self._path)!r} is damaged: {error}") from error
        return text

    def _index(self) -> None:
        if not self._path.exists() or os.path.getsize(self._path) == self._indexed:
            return
        with reading(self._path) as file:
            file.seek(self._indexed)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                # A line is ["<32 hex digits>", "…"]: the address need not be parsed as JSON. A damaged line
                # is passed over: only whoever asks for its text needs to know.
                with suppress(ValueError):
                    self._offsets.setdefault(bytes.fromhex(line[2:34].decode("ascii")), self._indexed)
                self._indexed += len(line)
