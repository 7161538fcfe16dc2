"""A model that is a program: an environment's own best player, which knows only what its prompt contains.

Run under every strategy and budget it measures how much each of them lets through, without a model's noise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from threading import Lock

from perdure.core.errors import ConfigError
from perdure.core.model import Outcome
from perdure.core.randomness import keyed_random
from perdure.core.request_digest import request_digest
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import TokenCount, Usage
from perdure.core.world import Reader, World
from perdure.models.parameter_checks import check_at_least, check_choice
from perdure.models.token_estimate import estimate_text
from perdure.strategies.summary_prompt import asks_for_summary

_PIECE = re.compile(r"[A-Za-z]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9]|\n+")
_A_MESSAGE = 4
_THOUGHT = "I go through all that I was shown once more, and then I decide. "


class PerfectReaderModel:
    """Answers with its world's `perfect_reader`, and requests for a summary with its `perfect_summary`.

    `world`: that of the run; one without `readers` is refused.
    `tokenizer`: how its prompts are counted, exactly, for its own tokenizer is what it says: `estimate` (four
    characters a token) or `pieces` (words of up to eight letters, numbers of up to three digits, marks).
    `reasoning_tokens`: write about so many tokens of empty reasoning above each action, as a language model
    would write full ones; histories then grow as theirs do.
    `cut_share`: cut so large a share of its replies in half, as a length limit does; which ones is decided by
    the request and its draw.
    Cached tokens are those of the longest beginning that a prompt shares with the one before it of the same
    kind. Raises ConfigError.
    """

    honours_sampling = False
    constrains_replies = False
    pure = True

    def __init__(
        self, world: World, *, tokenizer: str = "estimate", reasoning_tokens: int = 0, cut_share: float = 0.0
    ) -> None:
        if world.readers is None:
            raise ConfigError("perfect_reader: this environment has no perfect reader")
        check_choice("tokenizer", tokenizer, tuple(_TOKENIZERS))
        check_at_least("reasoning_tokens", reasoning_tokens, 0)
        if not 0 <= cut_share <= 1:
            raise ConfigError(f"cut_share must be from 0 to 1, not {cut_share}")
        self._cut_share = cut_share
        self._size = _TOKENIZERS[tokenizer]
        self._read, self._summarise = world.readers.perfect_reader, world.readers.perfect_summary
        self._previous: dict[Reader, tuple[Message, ...]] = {}
        self._reasoning = _THOUGHT * (reasoning_tokens // self._size(_THOUGHT))
        self._lock = Lock()

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """The best reply to each prompt."""
        for position, request in enumerate(requests):
            yield position, self._answer(request)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """Exact, by the tokenizer that was named."""
        return TokenCount(sum(self._message_size(message.text) for message in messages), exact=True)

    def _answer(self, request: Request) -> Outcome:
        messages = request.messages
        reader = self._summarise if asks_for_summary(messages) else self._read
        with self._lock:
            before, self._previous[reader] = self._previous.get(reader, ()), messages
        reply = reader(messages)
        if reader is self._read and self._reasoning:
            reply = f"{self._reasoning.rstrip()}\n\n{reply}"
        cut = reader is self._read and self._is_cut(request)
        if cut:
            reply = reply[: len(reply) // 2]
        usage = Usage(
            self.count_tokens(messages).tokens, self._size(reply), self._shared_tokens(before, messages)
        )
        return Completion(reply, "length" if cut else "stop", usage)

    def _is_cut(self, request: Request) -> bool:
        if not self._cut_share:
            return False
        return keyed_random(0, "cut", request_digest(request)).random() < self._cut_share

    def _shared_tokens(self, before: Sequence[Message], now: Sequence[Message]) -> int:
        pairs = zip(before, now, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        tokens = sum(self._message_size(message.text) for message in now[:same])
        if same < min(len(before), len(now)):
            tokens += self._size(now[same].text[: _common_length(before[same].text, now[same].text)])
        return tokens

    def _message_size(self, text: str) -> int:
        return self._size(text) + _A_MESSAGE


@lru_cache(maxsize=8192)
def count_pieces(text: str) -> int:
    """Pieces of a text: words of up to eight letters, numbers of up to three digits, marks, line ends."""
    return len(_PIECE.findall(text))


def _common_length(first: str, second: str) -> int:
    """Characters that two texts share at their beginning; found by halving, so that C compares."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


_TOKENIZERS: dict[str, Callable[[str], int]] = {"estimate": estimate_text, "pieces": count_pieces}

MODEL = PerfectReaderModel
