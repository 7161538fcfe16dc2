"""A key must not come back: a server may echo it in an error, or in a reply."""

from __future__ import annotations

from json import dumps
from urllib.parse import quote

_MASK = b"[key]"
_SHORTEST = 12
"""Characters of a key that is hidden in replies; shorter ones are placeholders, which may be words."""


class KeyMask:
    """Hides one key in what a server sends, in any way that JSON or an address writes it."""

    def __init__(self, key: str) -> None:
        written = dumps(key)[1:-1]
        forms = {key, written, written.replace("/", "\\/"), quote(key), quote(key, safe="")} - {""}
        self._forms = sorted((form.encode() for form in forms), key=len, reverse=True)
        self._is_long = len(key) >= _SHORTEST

    def over_reply(self, body: bytes) -> bytes:
        """A reply without the key, if it is long enough to be one."""
        return self.over_error(body) if self._is_long else body

    def over_error(self, body: bytes) -> bytes:
        """An error without the key."""
        for form in self._forms:
            body = body.replace(form, _MASK)
        return body
