"""Asks again when a reply holds no valid action, instead of spending a round on it (the example of B.1.6)."""

from __future__ import annotations

from collections.abc import Callable

from perdure.core.callback import Callback, CallbackContext, Step


class RegenerateOnInvalidAction(Callback):
    """Skips INTERACT for an invalid reply and asks the model again, at most `attempts` times in a row.

    After that the environment gets the reply and deals with it. Validity is the environment's own
    `normal_form`. The rejected reply and `error` are shown to the model; both leave the prompt with the next
    observation. Every attempt counts as a turn.
    """

    name = "regenerate_on_invalid_action"

    def __init__(
        self,
        *,
        attempts: int = 2,
        error: str = "This reply holds no valid action. Answer again in the required format.",
        normal_form: Callable[[str], str | None] | None = None,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {attempts}")
        if normal_form is None:
            raise ValueError("this environment does not say which actions are valid (no normal_form)")
        self._attempts = attempts
        self._error = error
        self._normal_form = normal_form

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Reject an invalid reply while attempts are left."""
        session = ctx.session
        if session.reply is None or len(session.rejected) >= self._attempts:
            return
        if self._normal_form(session.reply) is None:
            session.reject(self._error)
            ctx.controller.skip(Step.INTERACT)


CALLBACK = RegenerateOnInvalidAction
