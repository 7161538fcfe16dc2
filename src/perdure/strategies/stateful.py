"""A state beside the whole history: the Stateful baseline of SKILL.state, after LangGraph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.parameters import FromFile
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.state.contract import describe_fields
from perdure.state.schema import StateSchema
from perdure.strategies.published import Compat, PublishedRules
from perdure.strategies.reply_example import split_example
from perdure.strategies.state_update import MARK, BadUpdate, MergeMode, merged, split_update
from perdure.strategies.window import rejections

StatePosition: TypeAlias = Literal["first", "last"]
"""Before the history, as in the paper, or after it, where the history stays a prefix that can be cached."""

_CONTRACT = """\
# Your state
Beside the history you keep a state, which is shown to you as JSON.{fields}

# Your reply
Think first, in a few lines. Then, if the state changes, write one line `{mark} {{...}}` with a JSON object \
of what changes; {rule}. End with your action."""

_RULES: Mapping[MergeMode, str] = {
    "last_value": "the last value of each top-level field counts, so give that field as a whole",
    "deep": "objects are merged key by key, null deletes a key",
}


class Stateful:
    """Instructions, state (JSON, indented by 2), the whole history with full replies, latest observation.

    `state_schema`: what the state starts as and which fields the prompt names, as for `structured_state`; it
    is not enforced. `merge`: `deep` (default: objects are merged key by key) or `last_value` (each top-level
    key holds its last value, LangGraph's default: updates then repeat whole fields, and so does the history).
    `commit`: `on_accept` (default: if the environment accepted the action) or `paper` (whatever becomes of
    it). `state_position`: `first` as in the paper, or `last`. An update that cannot be read is recorded and
    ignored; the reply without its update is the action. `compat = "paper"`: `last_value` and `paper`, and an
    unusable reply goes to the environment as it is; options that are given win.

    Source: SKILL.state (arXiv 2608.26263), the Stateful/LangGraph baseline. Raises ConfigError.
    """

    schema: Mapping[str, JSON] | None = None
    published = PublishedRules(
        differences="unusable replies go to the environment as they are, whole fields, "
        "the state changes before the action"
    )
    _state: dict[str, JSON]
    _pending: dict[str, JSON]
    _step: int
    _updates: int

    def __init__(
        self,
        *,
        state_schema: Annotated[Any, FromFile] = None,
        merge: MergeMode | None = None,
        commit: Literal["on_accept", "paper"] | None = None,
        state_position: StatePosition = "first",
        compat: Compat = "none",
    ) -> None:
        published = compat == "paper"
        self.compat: Compat = compat
        self._merge: MergeMode = merge or ("last_value" if published else "deep")
        self._commit = commit or ("paper" if published else "on_accept")
        declared = None if state_schema is None else StateSchema(state_schema)
        self._initial: dict[str, JSON] = {} if declared is None else declared.initial
        fields = "" if declared is None else "\nIts fields:\n" + "\n".join(describe_fields(declared))
        self._contract = _CONTRACT.format(fields=fields, mark=MARK, rule=_RULES[self._merge])
        shown = [{"done": ["the first step"]}] if declared is None else declared.json_schema.get("examples")
        self._example_update: JSON = shown[0] if shown else None
        self._position = state_position
        self._begin()

    def start(self, opening: Opening, instructions: str) -> None:
        """The initial state."""
        self._begin()

    def render(self, view: ContextView) -> Sequence[Message]:
        """The state stands above the history, or above the latest observation."""
        state = f"State:\n```json\n{json.dumps(self._state, indent=2, ensure_ascii=False)}\n```\n\n"
        history = list(view.noted_history)
        place = 0 if self._position == "first" else len(history) - 1
        history[place] = Message(history[place].role, state + history[place].text)
        return [Message("system", view.instructions_with(self._form(view))), *history, *rejections(view)]

    def read(self, reply: Reply) -> str | None:
        """The reply without its update."""
        try:
            return split_update(reply.text)[0]
        except BadUpdate:
            return reply.text

    def absorb(self, reply: Reply) -> Absorbed:
        """Split the update off; the rest is for the environment to read."""
        self._pending, self._bad = {}, ""
        try:
            action, self._pending = split_update(reply.text)
        except BadUpdate as error:
            action, self._bad = reply.text, str(error)
        return Absorbed(action=action)

    def observe(self, observation: Observation) -> None:
        """Merge the pending update, if the environment accepted the action or the paper's rule is chosen."""
        self._step += 1
        if self._bad:
            self._bad_updates.append([self._step, self._bad])
        if self._pending and (observation.accepted or self._commit == "paper"):
            self._state = merged(self._state, self._pending, self._merge)
            self._updates += 1
        self._pending, self._bad = {}, ""

    def trace(self) -> JSON:
        """How many updates were merged, those that could not be read as [step, error], and the last state."""
        return {"state_updates": self._updates, "bad_updates": list(self._bad_updates), "state": self._state}

    def _form(self, view: ContextView) -> str:
        """How an action is written, the contract, and one example of both."""
        rules, action = split_example(view.reply_form)
        shown = self._example_update
        update = "" if shown is None else f"{MARK} {json.dumps(shown, ensure_ascii=False)}\n"
        example = f"For example:\n{update}{action}" if action else ""
        return "\n\n".join(part for part in (rules, self._contract, example) if part)

    def _begin(self) -> None:
        self._state = dict(self._initial)
        self._pending = {}
        self._bad = ""
        self._step = self._updates = 0
        self._bad_updates: list[JSON] = []


STRATEGY = Stateful
