"""Memory with a ceiling: the last turns and a summary that is cut off where its tokens end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.pool import ModelHandle
from perdure.core.session import shown
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.strategies.budget import Budget, BudgetKind
from perdure.strategies.published import SHARED_BASELINE, Compat
from perdure.strategies.running_summary import SUMMARY_HEADING, RunningSummary
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.window import cut_to_fit, largest_fitting, windowed


class CappedSummary(TextReplies):
    """As `memory`, but the summary never takes more than its ceiling, nor the prompt more than its budget.

    Give `summary_tokens`, `budget_tokens` or both. Under a budget, the latest turns come first and the
    summary gets what they leave. A new summary is cut to what the next prompt has room for, as far as it is
    known by then, and what is cut off is lost for good.
    `window`, `period` as in `memory`; `budget`: `whole_prompt` or `history_only`.

    `compat = "paper"`: an unusable reply is not asked for again but goes to the environment as it is.

    Source: SKILL.state (arXiv 2608.26263), the summary-capped control. Raises ConfigError.
    """

    published = SHARED_BASELINE

    def __init__(
        self,
        *,
        model: ModelHandle | None = None,
        summary_tokens: int | None = None,
        budget_tokens: int | None = None,
        budget: BudgetKind = "whole_prompt",
        window: int = 3,
        period: int = 1,
        compat: Compat = "none",
    ) -> None:
        self.compat: Compat = compat
        if summary_tokens is None and budget_tokens is None:
            raise ConfigError("capped_summary: give summary_tokens, budget_tokens or both")
        if summary_tokens is not None and summary_tokens < 1:
            raise ConfigError(f"summary_tokens must be at least 1, not {summary_tokens}")
        self._summary = RunningSummary(model, window=window, period=period)
        self._budget = Budget(budget_tokens, budget, model)
        self._summary_tokens = summary_tokens
        self._window = window
        self._begin(None, "")

    def start(self, opening: Opening, instructions: str) -> None:
        """Nothing to remember yet."""
        self._summary.start(opening)
        self._budget.start()
        self._begin(opening, instructions)

    def render(self, view: ContextView) -> Sequence[Message]:
        """As many of the unsummarised turns as fit, then as much of the summary."""
        if not self._budget.bounded:
            return self._prompt(view, self._summary.unsummarised, self._summary.text)
        limit = self._budget.limit(self._prompt(view, 0, ""))

        def fits(turns: int, summary: str) -> bool:
            return self._budget.count(self._prompt(view, turns, summary)) <= limit

        turns = largest_fitting(self._summary.unsummarised, lambda turns: fits(turns, ""))
        summary = cut_to_fit(self._summary.text, lambda text: fits(turns, text))
        prompt = self._prompt(view, turns, summary)
        step = self._summary.played + 1
        self._budget.note(step, len(view.rejected), self._budget.count(prompt), limit)
        return prompt

    def absorb(self, reply: Reply) -> Absorbed:
        """The reply's text is the action."""
        self._reply = shown(reply)
        self._summary.absorb(self._reply)
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:
        """Summarise what left the window, and cut the new summary to its ceiling."""
        before = self._summary.summaries
        self._recent += [(self._reply, observation.text)]
        ceiling = self._ceiling()
        self._summary.observe(observation, instructions=self._instructions, max_tokens=ceiling)
        if self._summary.summaries > before and ceiling is not None:
            written = self._summary.text
            self._summary.text = cut_to_fit(written, lambda text: self._budget.size(text) <= ceiling)
            self._cuts += self._summary.text != written

    def trace(self) -> JSON:
        """Summaries, how many of them were cut, and what the budget came to."""
        return {**self._summary.trace(), "cut_summaries": self._cuts, "budget": self._budget.trace()}

    def _ceiling(self) -> int | None:
        """Tokens of a summary that is written now: what the next prompt leaves it, at least one."""
        if not self._budget.bounded:
            return self._summary_tokens
        played = len(self._recent)
        turns = ((Message("agent", reply), Message("user", text)) for reply, text in self._recent)
        view = ContextView(self._instructions, self._goal, (), (*self._opening, *chain.from_iterable(turns)))

        def prompt(turns: int) -> list[Message]:
            return windowed(view, played=played, shown=turns)

        limit = self._budget.limit(prompt(0))
        fitting = largest_fitting(
            min(self._window, played), lambda turns: self._budget.count(prompt(turns)) <= limit
        )
        left = limit - self._budget.count(prompt(fitting)) - self._budget.size(SUMMARY_HEADING)
        # One large observation must not cost everything that is known.
        room = left if left > 0 else limit
        return room if self._summary_tokens is None else min(room, self._summary_tokens)

    def _prompt(self, view: ContextView, turns: int, summary: str) -> list[Message]:
        note = SUMMARY_HEADING + summary if summary else ""
        return windowed(view, played=self._summary.played, shown=turns, note=note)

    def _begin(self, opening: Opening | None, instructions: str) -> None:
        self._instructions = instructions
        self._goal = opening.goal if opening is not None else ""
        self._opening: tuple[Message, ...] = tuple(opening.history) if opening is not None else ()
        self._recent: deque[tuple[str, str]] = deque(maxlen=self._window + 1)
        self._reply = ""
        self._cuts = 0


STRATEGY = CappedSummary
