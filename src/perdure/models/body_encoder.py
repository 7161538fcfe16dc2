"""Request bodies as JSON, at a cost that does not grow with what was sent before.

A history comes again with every turn, longer by a message or two. Each text is encoded once, and a body that
begins as an earlier one did is continued from it: building a long prompt costs one copy of its bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from json import dumps
from threading import Lock

from perdure.core.types import JSON, Message, Role
from perdure.models.chat_dialect import encode_message

_REMEMBERED_BYTES = 32 << 20
_REMEMBERED_BODIES = 8
_OPENING = b'{"messages":['

_Sent = tuple[tuple[Message, ...], bytes, int]
"""A prompt, its body, and where in the body its last message ends."""


class BodyEncoder:
    """Remembers encoded texts up to a size, beyond which it forgets them all, and the newest few bodies.

    Safe to share between threads.
    """

    def __init__(self, remembered_bytes: int = _REMEMBERED_BYTES) -> None:
        self._budget = remembered_bytes
        self._lock = Lock()
        self._sent: deque[_Sent] = deque(maxlen=_REMEMBERED_BODIES)
        self._forget()

    def encode(self, messages: tuple[Message, ...], fields: Mapping[str, JSON]) -> bytes:
        """A body with these messages and, beside them, these fields (but no second `messages`)."""
        rest = dumps({name: value for name, value in fields.items() if name != "messages"}).encode()
        end = b"]," + rest[1:] if len(rest) > len(b"{}") else b"]}"
        begun, known = self._begun(messages)
        known_texts = self._texts
        fresh = b",".join(
            [known_texts[m.role].get(m.text) or self._learn(m) for m in messages[known:]],
        )
        comma = b"," if known and fresh else b""
        body = b"".join((begun, comma, fresh, end))
        if len(body) <= self._budget // _REMEMBERED_BODIES:
            with self._lock:
                self._sent.appendleft((messages, body, len(body) - len(end)))
        return body

    def _begun(self, messages: tuple[Message, ...]) -> tuple[bytes | memoryview, int]:
        """The longest known beginning of a body, and how many messages it holds."""
        with self._lock:
            candidates = list(self._sent)
        best: _Sent | None = None
        for sent in candidates:
            earlier = sent[0]
            if (best is None or len(earlier) > len(best[0])) and messages[: len(earlier)] == earlier:
                best = sent
        if best is None:
            return _OPENING, 0
        return memoryview(best[1])[: best[2]], len(best[0])

    def _learn(self, message: Message) -> bytes:
        encoded = encode_message(message.role, message.text)
        with self._lock:
            self._size += len(encoded)
            if self._size > self._budget:
                self._forget()
            self._texts[message.role][message.text] = encoded
        return encoded

    def _forget(self) -> None:
        self._size = 0
        self._texts: dict[Role, dict[str, bytes]] = {"system": {}, "user": {}, "agent": {}}
