"""A token budget for every prompt, counted by the model that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from perdure.core.errors import ConfigError
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Message

BudgetKind: TypeAlias = Literal["whole_prompt", "history_only"]
"""What the budget covers: the prompt as a whole, or what it shows beyond its fixed part."""


class Budget:
    """So many tokens a prompt, or any number where `tokens` is None.

    The fixed part of a prompt is what a strategy never leaves out: instructions and experience, goal,
    latest observation, rejected replies. Where that alone is larger than the budget, it is sent and listed as
    an overspend. Tokens are those of the model's own `count_tokens`; the trace says whether they are exact.
    Raises ConfigError.
    """

    def __init__(self, tokens: int | None, kind: BudgetKind, model: ModelHandle | None) -> None:
        if tokens is not None and tokens < 1:
            raise ConfigError(f"budget_tokens must be at least 1, not {tokens}")
        if tokens is not None and model is None:
            raise ConfigError("budget_tokens: a model is needed to count tokens; give one as model")
        self._tokens = tokens
        self._kind = kind
        self._model = model
        self.start()

    @property
    def bounded(self) -> bool:
        """Whether there is a limit at all."""
        return self._tokens is not None

    def start(self) -> None:
        """A new task: forget what was spent."""
        self._exact = True
        self._largest = 0
        self._noted: set[tuple[int, int]] = set()
        self._overspends: dict[int, list[int]] = {}

    def limit(self, fixed: Sequence[Message]) -> int:
        """The largest prompt allowed, in tokens, where `fixed` is its fixed part."""
        if self._tokens is None:
            raise ValueError("this budget has no limit")
        return self._tokens + (self.count(fixed) if self._kind == "history_only" else 0)

    def count(self, messages: Sequence[Message]) -> int:
        """Size of a prompt in tokens."""
        if self._model is None:
            raise ValueError("this budget has no model to count with")
        counted = self._model.count_tokens(messages)
        self._exact = self._exact and counted.exact
        return counted.tokens

    def size(self, text: str) -> int:
        """Tokens of a text inside a message."""
        return self.count([Message("user", text)]) - self.count([Message("user", "")])

    def note(self, step: int, rejected: int, tokens: int, limit: int) -> bool:
        """Remember what the prompt of a step took after so many rejected replies; whether it was the first.

        The agent renders before anybody else does: votes that show more change nothing.
        """
        if (step, rejected) in self._noted:
            return False
        self._noted.add((step, rejected))
        self._largest = max(self._largest, tokens)
        if tokens > limit:
            listed = self._overspends.get(step, [step, 0, limit])
            self._overspends[step] = [step, max(tokens, listed[1]), limit]
        return True

    def trace(self) -> JSON:
        """Budget, largest prompt, and overspends as [step from 1, tokens, limit]; None without a budget."""
        if self._tokens is None:
            return None
        return {
            "budget_tokens": self._tokens,
            "budget": self._kind,
            "counts": "exact" if self._exact else "estimate",
            "largest_prompt": self._largest,
            "overspends": list(self._overspends.values()),
        }
