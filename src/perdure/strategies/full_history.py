"""ReAct: the whole interaction history in every prompt (Yao et al. 2022), the baseline of both papers."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.agent import ContextView
from perdure.core.environment import Opening
from perdure.core.types import JSON, Message, Observation
from perdure.strategies.published import SHARED_BASELINE, Compat
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.window import rejections

_ASSISTANT = "You are a helpful assistant."
_ACKNOWLEDGED = Message("agent", "OK.")


class FullHistory(TextReplies):
    """Shows everything; its prompt grows with every step. The reply is the action.

    `compat = "paper"`: an unusable reply is not asked for again but goes to the environment as it is.
    `acknowledged`: instructions and experience are a first turn, answered with "OK.", LifelongAgentBench's
    layout; by default where strategy and environment both have `compat = "paper"`.
    """

    published = SHARED_BASELINE

    def __init__(self, *, compat: Compat = "none", acknowledged: bool = False) -> None:
        self.compat: Compat = compat
        self._acknowledged = acknowledged

    def start(self, opening: Opening, instructions: str) -> None:
        """Nothing to prepare: the session keeps the history."""

    def render(self, view: ContextView) -> Sequence[Message]:
        """Instructions and experience, every message so far, then rejected replies with their errors."""
        opening = [Message("system", view.text_instructions)]
        if self._acknowledged:
            opening = [Message("system", _ASSISTANT), Message("user", view.text_instructions), _ACKNOWLEDGED]
        return [*opening, *view.noted_history, *rejections(view)]

    def observe(self, observation: Observation) -> None:
        """Nothing to commit."""

    def trace(self) -> JSON:
        """The session holds everything already."""
        return None


STRATEGY = FullHistory
