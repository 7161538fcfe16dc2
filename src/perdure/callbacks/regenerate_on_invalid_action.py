"""Asks again when a reply holds no valid action, instead of spending a round on it (the example of B.1.6)."""

from __future__ import annotations

from perdure.core.agent import UNREADABLE, refusal
from perdure.core.callback import Callback, CallbackContext, Step


class RegenerateOnInvalidAction(Callback):
    """Skips INTERACT for an invalid reply and asks the model again, at most `attempts` times in a row.

    After that the environment gets the reply and deals with it. Validity is the environment's own
    `read_action`. The rejected reply and `error` are shown to the model; both leave the prompt with the next
    observation. A reply that was cut is told so instead. Every attempt counts as a turn, and as one of the
    agent's own `retries`.
    """

    name = "regenerate_on_invalid_action"
    reach = "session"
    learns = False

    def __init__(
        self,
        *,
        attempts: int = 2,
        error: str = UNREADABLE,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {attempts}")
        self._attempts = attempts
        self._error = error

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Reject an invalid reply while attempts are left."""
        session = ctx.session
        if session.reply is None or len(session.rejected) >= self._attempts:
            return
        if ctx.read_action(session.reply) is None:
            session.reject(refusal(session.reply, self._error))
            ctx.controller.skip(Step.INTERACT)


CALLBACK = RegenerateOnInvalidAction
