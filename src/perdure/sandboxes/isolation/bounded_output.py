"""Keeps the head and the tail of a stream of any length in bounded memory."""

from __future__ import annotations

_MARK_ROOM = 96
_HEAD_SHARE = 0.6


class BoundedOutput:
    """Collects bytes; `render` gives at most `limit` of them, with the cut said in the middle."""

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"an output limit cannot be {limit!r}")
        self.total = 0
        self._limit = limit
        self._kept = max(0, limit - _MARK_ROOM)
        self._head_size = int(self._kept * _HEAD_SHARE)
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def truncated(self) -> bool:
        """More came than `render` shows."""
        return self.total > self._limit

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._limit - len(self._head)
        if room > 0:
            self._head += data[:room]
        rest = data[max(0, room) :]
        if rest:
            self._tail += rest[-self._limit :]
            if len(self._tail) > 2 * self._limit:
                del self._tail[: -self._limit]

    def render(self) -> bytes:
        """What was kept. A cut falls between characters of UTF-8, and its line says how much is missing."""
        if not self.truncated:
            return bytes(self._head)
        if self._kept == 0:
            return bytes(self._head[: self._limit])
        seen = bytes(self._head + self._tail[-self._limit :])
        head = _whole_characters_start(seen[: self._head_size])
        tail = _whole_characters_end(seen[len(seen) - (self._kept - self._head_size) :])
        missing = self.total - len(head) - len(tail)
        mark = f"\n[… {missing} of {self.total} bytes of output left out …]\n".encode()
        return head + mark + tail


def _whole_characters_start(data: bytes) -> bytes:
    """Without a character that its end cuts in two."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 != 0x80:
            width = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return data[:-back] if width > back else data
    return data


def _whole_characters_end(data: bytes) -> bytes:
    """Without the rest of a character that began before it."""
    for skip in range(min(4, len(data))):
        if data[skip] & 0xC0 != 0x80:
            return data[skip:]
    return data
