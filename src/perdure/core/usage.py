"""Tokens: of a call as it was counted, of a prompt beforehand, and one by one with their probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the server counted them; cached and reasoning are parts of the first two."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True)
class TokenLogprob:
    """Natural-log probability of one completion token and of its alternatives."""

    token: str
    logprob: float
    alternatives: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TokenCount:
    """Size of a prompt, and whether the served model's own tokenizer counted it."""

    tokens: int
    exact: bool
