"""Size of a prompt when no tokenizer is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from perdure.core.types import Message
from perdure.core.usage import TokenCount

_CHARACTERS_A_TOKEN = 4
_TOKENS_A_MESSAGE = 4


@lru_cache(maxsize=2048)  # a prompt is counted anew at every step, and most of it is not new
def estimate_text(text: str) -> int:
    """Tokens of one text: four ASCII characters a token, one token for any other character.

    Grows with the text, never shrinks; English prose and code are within about a third of common tokenizers.
    """
    if text.isascii():
        return -(-len(text) // _CHARACTERS_A_TOKEN)
    other = len(text) - len(text.encode("ascii", "ignore"))
    return other + -(-(len(text) - other) // _CHARACTERS_A_TOKEN)


def estimate_messages(messages: Sequence[Message]) -> TokenCount:
    """Tokens of a prompt, with four a message for the chat template's own marks; marked as an estimate."""
    return TokenCount(
        sum(estimate_text(message.content) + _TOKENS_A_MESSAGE for message in messages),
        exact=False,
    )
