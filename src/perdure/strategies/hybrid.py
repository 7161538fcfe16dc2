"""The whole history while a task is young, then the state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from perdure.core.agent import ContextView
from perdure.core.errors import ConfigError
from perdure.core.parameters import FromFile
from perdure.core.types import Message
from perdure.state.contract import MEMORY
from perdure.state.patch import PatchMode
from perdure.state.runtime import CommitMode
from perdure.strategies.state_context import StateContext


class Hybrid(StateContext):
    """As `structured_state`, with every turn so far above the state in the first `history_steps` steps.

    The state is kept from the first step on, so that it holds what is needed when the history goes: a short
    task is played with everything in sight, a long one at a constant size. Other parameters as in
    `structured_state`. Raises ConfigError.
    """

    def __init__(
        self,
        *,
        history_steps: int,
        state_schema: Annotated[Any, FromFile] = None,
        patch_mode: PatchMode = "merge",
        commit: CommitMode | None = None,
        constrained: bool | None = None,
        window: int = 0,
        action_pattern: str | list[str] | None = None,
        action_form: str = "",
        action_example: str = "",
        max_deletions: int | None = None,
        named_deletions: bool | None = None,
        max_shrink: float | None = None,
        max_state_chars: int = 200_000,
        read_action: Callable[[str], str | None] | None = None,
    ) -> None:
        if history_steps < 0:
            raise ConfigError(f"history_steps must be at least 0, not {history_steps}")
        self._history_steps = history_steps
        super().__init__(
            state_schema=state_schema,
            patch_mode=patch_mode,
            commit=commit,
            constrained=constrained,
            window=window,
            action_pattern=action_pattern,
            action_form=action_form,
            action_example=action_example,
            max_deletions=max_deletions,
            named_deletions=named_deletions,
            max_shrink=max_shrink,
            max_state_chars=max_state_chars,
            read_action=read_action,
        )

    def render(self, view: ContextView) -> Sequence[Message]:
        """With the turns so far between the two messages, as long as they are shown."""
        turns = view.history[:-1] if self._step <= self._history_steps else ()
        return [self._system(view), *turns, self._now(view)]

    def _memory(self) -> str:
        after = f"After step {self._history_steps} y"
        return MEMORY.replace("Y", after, 1) if self._history_steps else super()._memory()


STRATEGY = Hybrid
