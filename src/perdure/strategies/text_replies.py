"""Replies that are actions as they stand: the environment reads them itself."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.agent import Absorbed
from perdure.core.types import JSON, Reply


class TextReplies:
    """The part of a context strategy that reads replies, where they are free text."""

    schema: Mapping[str, JSON] | None = None

    def read(self, reply: Reply) -> str | None:
        """The environment reads the reply itself."""
        return reply.text

    def absorb(self, reply: Reply) -> Absorbed:
        """The reply's text is the action."""
        return Absorbed(action=reply.text)
