"""The prompts of strategies that keep a declared state, and what becomes of the replies to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.parameters import FromFile
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.state.action import TextActions
from perdure.state.contract import MEMORY
from perdure.state.guards import Guards
from perdure.state.patch import PatchLimits, PatchMode
from perdure.state.prompt import correction, step_message, system_message
from perdure.state.runtime import CommitMode, StateRuntime
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure
from perdure.strategies.published import Compat


class StateContext:
    """Instructions, contract and goal; then the state and the latest observation. See `structured_state`."""

    schema: Mapping[str, JSON] | None
    _observation: str
    _step: int

    def __init__(
        self,
        *,
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
        compat: Compat = "none",
        read_action: Callable[[str], str | None] | None = None,
    ) -> None:
        if window < 0:
            raise ConfigError(f"window must be at least 0, not {window}")
        published = compat == "paper"
        self.compat: Compat = compat
        self._window = window
        self._schema = StateSchema(NOTES if state_schema is None else state_schema)
        holds = not published if constrained is None else constrained
        self._options: dict[str, Any] = {
            "patch_mode": patch_mode,
            "commit": commit or ("paper" if published else "on_accept"),
            "actions": TextActions(
                action_pattern, action_form, example=action_example or None, read=read_action
            ),
            "guards": _guards(max_deletions, named_deletions, max_shrink, off=published),
            "limits": PatchLimits(max_state_chars=max_state_chars),
            "reasoning": holds,
            "memory": self._memory(),
        }
        self._begin("")
        self.schema = self._runtime.reply_schema if holds else None

    def start(self, opening: Opening, instructions: str) -> None:
        """An empty state and the first observation."""
        self._begin(opening.observation.text)

    def render(self, view: ContextView) -> Sequence[Message]:
        """Two messages; only the last error of a rejected reply is shown, with the answer it corrects."""
        return [self._system(view), self._now(view)]

    def read(self, reply: Reply) -> str | None:
        """The action beside the patch."""
        action = self._runtime.read_action(reply.text)
        return action if isinstance(action, str) else None

    def absorb(self, reply: Reply) -> Absorbed:
        """Propose a patch."""
        proposal = self._runtime.propose(reply.text, step=self._step, observation=self._observation)
        if isinstance(proposal, Failure):
            return Absorbed(error=proposal.message)
        return Absorbed(action=proposal.action, tolerances=proposal.tolerances)

    def observe(self, observation: Observation) -> None:
        """Commit the pending patch, if the environment accepted the action or the paper's rule is chosen."""
        self._runtime.settle(step=self._step, accepted=observation.accepted, reason=observation.text)
        self._earlier.append(self._observation)
        self._observation = observation.text
        self._step += 1

    def trace(self) -> JSON:
        """Patches with what each changed, and failures by class."""
        return self._runtime.trace()

    def _system(self, view: ContextView) -> Message:
        contract = "" if self.compat == "paper" else self._runtime.contract
        return system_message(view.instructions, contract, view.goal, view.experience)

    def _now(self, view: ContextView) -> Message:
        """State and latest observation, and what goes with them."""
        runtime, mended = self._runtime, ""
        if view.rejected:
            latest = view.rejected[-1]
            mended = correction(latest.reply, latest.error, runtime.answer_form)
        contract = runtime.contract if self.compat == "paper" else ""
        earlier = [text for text in self._earlier if text]
        return step_message(runtime.state_text, self._observation, mended, view.note, earlier, contract)

    def _memory(self) -> str:
        """What the prompt says of what is kept beside the state."""
        if not self._window:
            return MEMORY
        return MEMORY.replace("earlier steps.", f"earlier steps but the {self._window} observations before.")

    def _begin(self, observation: str) -> None:
        self._runtime = StateRuntime(self._schema, **self._options)
        self._observation = observation
        self._earlier: deque[str] = deque(maxlen=self._window)
        self._step = 1


def _guards(deletions: int | None, named: bool | None, shrink: float | None, *, off: bool) -> Guards:
    """The guards that are wanted: the usual ones, or none, where nothing was said."""
    usual = Guards(None, False, None) if off else Guards()
    return Guards(
        usual.max_deletions if deletions is None else None if deletions < 0 else deletions,
        usual.named_deletions if named is None else named,
        usual.max_shrink if shrink is None else None if shrink >= 1 else shrink,
    )


NOTES: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "notes": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "default": {},
            "description": "what you need to remember, each under a short name",
        }
    },
    "additionalProperties": False,
    "examples": [{"notes": {"key": "found under the mat"}}],
}
"""The state where nobody declared one."""
