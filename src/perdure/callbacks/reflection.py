"""Lessons that a model writes after each task.

Reflexion (Shinn et al. 2023) within a task, ExpeL (Zhao et al. 2024) across tasks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from perdure.core.callback import Callback, CallbackContext
from perdure.core.errors import ModelError
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Message, Request, Sampling

QUESTION = """\
Above is one finished task and its verdict: {verdict}.
Write one lesson, in one or two sentences, that would help with other tasks of this kind.
Do not repeat a known lesson. Known lessons:
{known}"""

HEADING = "Lessons from earlier tasks:"


class Reflection(Callback):
    """After each task `model` writes one lesson; the newest `max_lessons` are shown to the agent.

    The writer sees the instructions, the session's history and the verdict. A lesson is one line of at most
    `max_chars`; none is kept where the model fails or says nothing. `only_failures` asks after tasks that
    were not solved, as Reflexion does. Each lesson is a delta; a snapshot holds the bounded store.
    """

    name = "reflection"

    def __init__(
        self,
        *,
        model: ModelHandle,
        max_lessons: int = 20,
        max_chars: int = 400,
        only_failures: bool = False,
    ) -> None:
        if max_lessons < 1 or max_chars < 1:
            raise ValueError("max_lessons and max_chars must be at least 1")
        self._model = model
        self._max_chars = max_chars
        self._only_failures = only_failures
        self._lessons: deque[str] = deque(maxlen=max_lessons)
        self._new: str | None = None

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """The newest lessons."""
        self._lessons.extend([*(state or []), *(delta for delta in deltas if delta is not None)])

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Show the lessons."""
        self._new = None
        if self._lessons:
            ctx.session.experience.append("\n".join([HEADING, *(f"- {text}" for text in self._lessons)]))

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """Ask for a lesson."""
        session = ctx.session
        record = session.record()
        if not session.history or (self._only_failures and record.correct):
            return
        known = "\n".join(f"- {text}" for text in self._lessons) or "- none"
        verdict = f"{record.outcome}, {record.status}"
        question = Message("user", QUESTION.format(verdict=verdict, known=known))
        told = [Message("system", ctx.environment.instructions), *session.history]
        prompt = alternating([*told, question])
        outcome = self._model.generate([Request(prompt, sampling=Sampling(max_tokens=self._max_chars))])[0]
        if not isinstance(outcome, ModelError):
            self._new = " ".join(outcome.text.split())[: self._max_chars] or None

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """The new lesson."""
        if self._new is not None:
            self._lessons.append(self._new)
        return self._new

    def snapshot_state(self) -> JSON:
        """Every lesson that is still shown."""
        return list(self._lessons)


def alternating(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Neighbours of one role joined into one message, as chat templates demand."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            message = Message(message.role, f"{joined.pop().text}\n\n{message.text}")
        joined.append(message)
    return tuple(joined)


CALLBACK = Reflection
