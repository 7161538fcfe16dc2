"""The last turns and a running prose summary of those before: the Memory baseline of SKILL.state."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.pool import ModelHandle
from perdure.core.session import shown
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.strategies.published import SHARED_BASELINE, Compat
from perdure.strategies.running_summary import SUMMARY_HEADING, RunningSummary
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.window import windowed


class Memory(TextReplies):
    """Instructions, goal, summary, the last `window` turns, the latest observation. The reply is the action.

    Every `period` turns, the turns that left the window are summarised by `model` (the agent's own unless
    another is named); its calls are counted. The summary has no ceiling: `capped_summary` has one.

    `compat = "paper"`: an unusable reply is not asked for again but goes to the environment as it is.

    Source: SKILL.state (arXiv 2608.26263), the Memory baseline. Raises ConfigError.
    """

    published = SHARED_BASELINE

    def __init__(
        self,
        *,
        model: ModelHandle | None = None,
        window: int = 3,
        period: int = 1,
        compat: Compat = "none",
    ) -> None:
        self.compat: Compat = compat
        self._summary = RunningSummary(model, window=window, period=period)
        self._instructions = ""

    def start(self, opening: Opening, instructions: str) -> None:
        """Nothing to remember yet."""
        self._summary.start(opening)
        self._instructions = instructions

    def render(self, view: ContextView) -> Sequence[Message]:
        """The summary stands where the turns it replaces stood."""
        note = SUMMARY_HEADING + self._summary.text if self._summary.text else ""
        return windowed(view, played=self._summary.played, shown=self._summary.unsummarised, note=note)

    def absorb(self, reply: Reply) -> Absorbed:
        """The reply's text is the action."""
        self._summary.absorb(shown(reply))
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:
        """Summarise what left the window."""
        self._summary.observe(observation, instructions=self._instructions)

    def trace(self) -> JSON:
        """Summaries, and those that could not be had."""
        return self._summary.trace()


STRATEGY = Memory
