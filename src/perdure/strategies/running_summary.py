"""A prose summary of the turns that left a window, kept up by a model between the steps."""

from __future__ import annotations

from perdure.core.environment import Opening
from perdure.core.errors import ConfigError, ModelError
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Message, Observation, Request, Sampling
from perdure.strategies.summary_prompt import Turn, summary_request

SUMMARY_HEADING = "What happened before, in short:\n"
"""Stands above the summary in a prompt."""


class RunningSummary:
    """Every `period` turns, those that left the window of `window` turns are worked into `text`.

    Between two summaries the window is longer by what has left it already: nothing falls between the two. A
    summary that cannot be had leaves its turns where they are, to be tried again after the next step.
    Raises ConfigError.
    """

    text: str
    """The summary."""
    played: int
    """Turns so far."""
    summaries: int
    """Summaries so far."""
    _goal: str
    _latest: str

    def __init__(self, model: ModelHandle | None, *, window: int, period: int) -> None:
        if model is None:
            raise ConfigError("model: missing; a model must write the summaries")
        if window < 0:
            raise ConfigError(f"window must be at least 0, not {window}")
        if period < 1:
            raise ConfigError(f"period must be at least 1, not {period}")
        self._model = model
        self._window = window
        self._period = period
        self._begin("", "")

    def start(self, opening: Opening) -> None:
        """No turn was played yet."""
        self._begin(opening.goal, opening.observation.text)

    @property
    def unsummarised(self) -> int:
        """Turns that the summary does not hold yet: those that a prompt should show."""
        return len(self._turns)

    def absorb(self, reply: str) -> None:
        """The reply of the turn under way."""
        self._reply = reply

    def observe(self, observation: Observation, *, instructions: str, max_tokens: int | None = None) -> None:
        """A turn is over; summarise where it is time to, in at most `max_tokens`."""
        self.played += 1
        self._turns.append(Turn(self._latest, self._reply))
        self._latest, self._reply = observation.text, ""
        over = observation.done or observation.status.is_terminal
        if not over and len(self._turns) >= self._window + self._period:
            self._summarise(instructions, max_tokens)

    def trace(self) -> dict[str, JSON]:
        """How often it was summarised, the summary, and those that could not be had as [turn, error]."""
        return {"summaries": self.summaries, "summary": self.text, "failed_summaries": list(self._failed)}

    def _summarise(self, instructions: str, max_tokens: int | None) -> None:
        leaving = self._turns[: len(self._turns) - self._window]
        messages: tuple[Message, ...] = summary_request(
            instructions, self._goal, self.text, leaving, max_tokens=max_tokens
        )
        request = Request(messages, sampling=Sampling(max_tokens=max_tokens))
        outcome = self._model.generate([request])[0]
        if isinstance(outcome, ModelError):
            self._failed.append([self.played, str(outcome)])
            return
        self.text = outcome.text.strip()
        self.summaries += 1
        del self._turns[: len(leaving)]

    def _begin(self, goal: str, observation: str) -> None:
        self.text = ""
        self.played = self.summaries = 0
        self._goal = goal
        self._latest = observation
        self._reply = ""
        self._turns: list[Turn] = []
        self._failed: list[JSON] = []
