"""Every action, and only the latest observations: the baseline that summaries have to beat."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.agent import ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.types import JSON, Message, Observation
from perdure.strategies.text_replies import TextReplies
from perdure.strategies.window import opening_observation, rejections

MASK = "(This observation was left out.)"


class ObservationMasking(TextReplies):
    """The whole history with full replies, in which all but the latest observations give way to one line.

    `window`: how many observations are shown, the latest included. The goal stays, and so does what stood
    before the task. Observations are most of what an agent reads, and replies say what was made of them. The
    reply is the action.

    Source: Lindenbauer et al. 2025 (arXiv 2508.21433), observation masking. Raises ConfigError.
    """

    def __init__(self, *, window: int = 10) -> None:
        if window < 1:
            raise ConfigError(f"window must be at least 1, not {window}")
        self._window = window
        self._played = 0

    def start(self, opening: Opening, instructions: str) -> None:
        """No turn was played yet."""
        self._played = 0

    def render(self, view: ContextView) -> Sequence[Message]:
        """The history, masked but for its end."""
        history = view.noted_history
        opening = max(0, len(history) - 2 * self._played - 1)
        first_shown = len(history) - 2 * self._window + 1
        shown = [
            self._masked(view, message, is_opening=position == opening)
            if opening <= position < first_shown and message.role == "user"
            else message
            for position, message in enumerate(history)
        ]
        return [Message("system", view.text_instructions), *shown, *rejections(view)]

    def observe(self, observation: Observation) -> None:
        """Another turn was played."""
        self._played += 1

    def trace(self) -> JSON:
        """How many observations are masked in the end."""
        return {"masked_observations": max(0, self._played + 1 - self._window)}

    def _masked(self, view: ContextView, message: Message, *, is_opening: bool) -> Message:
        if not is_opening:
            return Message("user", MASK)
        observed = opening_observation(view, message)
        if not observed or observed == message.text:  # nothing to leave out, or nothing that tells it apart
            return message
        return Message("user", message.text.removesuffix(observed) + MASK)


STRATEGY = ObservationMasking
