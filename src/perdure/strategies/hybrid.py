"""The whole history while a task is young, then the state alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.core.agent import ContextView
from perdure.core.errors import ConfigError
from perdure.core.types import Message
from perdure.state.contract import MEMORY
from perdure.strategies.state_context import StateContext


class Hybrid(StateContext):
    """As `structured_state`, with every turn so far above the state in the first `history_steps` steps.

    The state is kept from the first step on, so that it holds what is needed when the history goes: a short
    task is played with everything in sight, a long one at a constant size. Other parameters as in
    `structured_state`. Raises ConfigError.
    """

    def __init__(self, *, history_steps: int, **options: Any) -> None:
        if options.get("compat", "none") != "none":
            raise ConfigError("compat: no paper has hybrid; leave it out")
        if history_steps < 0:
            raise ConfigError(f"history_steps must be at least 0, not {history_steps}")
        self._history_steps = history_steps
        super().__init__(**options)

    def render(self, view: ContextView) -> Sequence[Message]:
        """With the turns so far between the two messages, as long as they are shown."""
        turns = view.history[:-1] if self._step <= self._history_steps else ()
        return [self._system(view), *turns, self._now(view)]

    def _memory(self) -> str:
        after = f"After step {self._history_steps} y"
        return MEMORY.replace("Y", after, 1) if self._history_steps else super()._memory()


STRATEGY = Hybrid
