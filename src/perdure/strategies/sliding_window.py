"""Only the most recent turns: as many as fit a token budget, or a fixed number."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.agent import ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Message, Observation
from perdure.strategies.budget import Budget, BudgetKind
from perdure.strategies.published import SHARED_BASELINE, Compat
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.window import largest_fitting, windowed


class SlidingWindow(TextReplies):
    """Instructions, goal, the latest turns, the latest observation. The reply is the action.

    `turns`: at most so many turns. `budget_tokens`: as many as fit; one of the two must be given. `budget`:
    `whole_prompt` or `history_only`, what the budget covers. A turn is shown whole or not at all.

    `compat = "paper"`: an unusable reply is not asked for again but goes to the environment as it is.

    Source: SKILL.state (arXiv 2608.26263), the sliding-window control. Raises ConfigError.
    """

    published = SHARED_BASELINE

    def __init__(
        self,
        *,
        turns: int | None = None,
        budget_tokens: int | None = None,
        budget: BudgetKind = "whole_prompt",
        model: ModelHandle | None = None,
        compat: Compat = "none",
    ) -> None:
        self.compat: Compat = compat
        if turns is None and budget_tokens is None:
            raise ConfigError("sliding_window: give turns, budget_tokens or both")
        if turns is not None and turns < 0:
            raise ConfigError(f"turns must be at least 0, not {turns}")
        self._turns = turns
        self._budget = Budget(budget_tokens, budget, model)
        self._played = 0

    def start(self, opening: Opening, instructions: str) -> None:
        """No turn was played yet."""
        self._played = 0
        self._budget.start()

    def render(self, view: ContextView) -> Sequence[Message]:
        """The longest window that is allowed."""
        most = self._played if self._turns is None else min(self._turns, self._played)
        if not self._budget.bounded:
            return self._window(view, most)
        limit = self._budget.limit(self._window(view, 0))
        shown = largest_fitting(most, lambda turns: self._budget.count(self._window(view, turns)) <= limit)
        prompt = self._window(view, shown)
        self._budget.note(self._played + 1, len(view.rejected), self._budget.count(prompt), limit)
        return prompt

    def observe(self, observation: Observation) -> None:
        """Another turn was played."""
        self._played += 1

    def trace(self) -> JSON:
        """What the budget came to."""
        return self._budget.trace()

    def _window(self, view: ContextView, turns: int) -> list[Message]:
        return windowed(view, played=self._played, shown=turns)


STRATEGY = SlidingWindow
