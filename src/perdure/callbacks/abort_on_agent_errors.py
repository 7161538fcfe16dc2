"""Gives a run up when the model itself keeps failing (the original's consecutive-abnormal rule)."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.core.callback import Callback, CallbackContext, Step
from perdure.core.types import JSON, Evaluation, EvaluationOutcome, SessionStatus


class AbortOnAgentErrors(Callback):
    """After `tolerance` sessions in a row with an abnormal inference, every later task is given up unplayed.

    Abnormal are `agent_context_limit`, `agent_out_of_memory` and `agent_unknown_error`; any other status
    resets the count, but that of an ignored task.
    A task given up ends as `agent_unknown_error`, incorrect, without reset or complete.
    """

    name = "abort_on_agent_errors"
    learns = False

    def __init__(self, *, tolerance: int = 8) -> None:
        if tolerance < 1:
            raise ValueError(f"tolerance must be at least 1, not {tolerance}")
        self._tolerance = tolerance
        self._in_a_row = 0
        self._abnormal: bool | None = None

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """Take up the count; a delta says whether a session ended abnormally."""
        self._in_a_row = state or 0
        for abnormal in deltas:
            if abnormal is not None:
                self._in_a_row = self._in_a_row + 1 if abnormal else 0

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Give the task up once the tolerance is used."""
        self._abnormal = None
        if self._in_a_row >= self._tolerance:
            ctx.controller.skip(Step.RESET)
            reason = f"given up: {self._in_a_row} sessions in a row ended in an agent error"
            ctx.session.finish(SessionStatus.AGENT_UNKNOWN_ERROR, reason)
            ctx.session.evaluate(Evaluation(EvaluationOutcome.INCORRECT, 0.0))

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """Count, or start again; an ignored task says nothing about the agent."""
        if ctx.session.record().ignored:
            return
        self._abnormal = ctx.session.status.is_abnormal_inference
        self._in_a_row = self._in_a_row + 1 if self._abnormal else 0

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """Whether this task ended abnormally; nothing of one that was given up."""
        return self._abnormal

    def snapshot_state(self) -> JSON:
        """The count."""
        return self._in_a_row


CALLBACK = AbortOnAgentErrors
