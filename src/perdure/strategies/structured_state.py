"""SKILL.state: instructions, the current state and the latest observation; no history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.parameters import FromFile
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.state.action import TextActions
from perdure.state.guards import Guards
from perdure.state.patch import PatchLimits, PatchMode
from perdure.state.prompt import correction, step_message, system_message
from perdure.state.runtime import CommitMode, StateRuntime
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure


class StructuredState:
    """Keeps a declared state, which the model changes with a patch in every reply.

    `state_schema`: a JSON Schema, `"file.py:Name"` of one or of a pydantic model; by default the
    environment's own, else one field of notes. `patch_mode`: `merge`, `ops` or `rewrite`. `commit`:
    `on_accept` (the state changes if the environment accepted the action) or `paper` (it changes whatever
    happens to the action). `constrained`: send the JSON Schema of a reply to models that can be held to one.
    `action_pattern`: a regular expression for whole actions, or the list of all of them; by default the
    environment's own. `action_form`: how one action is written, as the prompt says it; by default the
    environment's own words. `max_deletions`, `named_deletions`, `max_shrink`: what one patch may lose, see
    `Guards`; a negative `max_deletions` and a `max_shrink` of 1 turn a guard off. `max_state_chars`: size
    of the state.

    Source: SKILL.state (arXiv 2608.26263), algorithm 1. Raises ConfigError.
    """

    schema: Mapping[str, JSON] | None
    _step: int

    def __init__(
        self,
        *,
        state_schema: Annotated[Any, FromFile] = None,
        patch_mode: PatchMode = "merge",
        commit: CommitMode = "on_accept",
        constrained: bool = True,
        action_pattern: str | list[str] | None = None,
        action_form: str = "",
        max_deletions: int = 5,
        named_deletions: bool = True,
        max_shrink: float = 0.5,
        max_state_chars: int = 200_000,
    ) -> None:
        self._schema = StateSchema(NOTES if state_schema is None else state_schema)
        self._options: dict[str, Any] = {
            "patch_mode": patch_mode,
            "commit": commit,
            "actions": TextActions(action_pattern, action_form),
            "guards": Guards(
                None if max_deletions < 0 else max_deletions,
                named_deletions,
                None if max_shrink >= 1 else max_shrink,
            ),
            "limits": PatchLimits(max_state_chars=max_state_chars),
        }
        self._begin("")
        self.schema = self._runtime.reply_schema if constrained else None

    def start(self, opening: Opening, instructions: str) -> None:
        """An empty state and the first observation."""
        self._begin(opening.observation.text)

    def render(self, view: ContextView) -> Sequence[Message]:
        """Two messages; only the last error of a rejected reply is shown, with the answer it corrects."""
        mended = correction(view.rejected[-1].reply, view.rejected[-1].error) if view.rejected else ""
        return [
            system_message(view.instructions_block, self._runtime.contract, view.goal),
            step_message(self._runtime.state_text, self._observation, mended, view.note),
        ]

    def read(self, reply: Reply) -> str | None:
        """The action beside the patch."""
        action = self._runtime.read_action(reply.text)
        return action if isinstance(action, str) else None

    def absorb(self, reply: Reply) -> Absorbed:
        """Propose a patch."""
        proposal = self._runtime.propose(reply.text, step=self._step, observation=self._observation)
        if isinstance(proposal, Failure):
            return Absorbed(error=proposal.message)
        return Absorbed(action=proposal.action)

    def observe(self, observation: Observation) -> None:
        """Commit the pending patch, if the environment accepted the action or the paper's rule is chosen."""
        self._runtime.settle(step=self._step, accepted=observation.accepted, reason=observation.text)
        self._observation = observation.text
        self._step += 1

    def trace(self) -> JSON:
        """Patches with what each changed, and failures by class."""
        return self._runtime.trace()

    def _begin(self, observation: str) -> None:
        self._runtime = StateRuntime(self._schema, **self._options)
        self._observation = observation
        self._step = 1


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
}
"""The state where nobody declared one."""

STRATEGY = StructuredState
