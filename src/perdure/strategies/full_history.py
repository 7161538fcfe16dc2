"""ReAct: the whole interaction history in every prompt (Yao et al. 2022), the baseline of both papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.types import JSON, Message, Observation, Reply


class FullHistory:
    """Shows everything; its prompt grows with every step. The reply is the action."""

    schema: Mapping[str, JSON] | None = None

    def start(self, opening: Opening, instructions: str) -> None:
        """Nothing to prepare: the session keeps the history."""

    def render(self, view: ContextView) -> Sequence[Message]:
        """Instructions and experience, every message so far, then rejected replies with their errors."""
        prompt = [Message("system", view.text_instructions), *view.noted_history]
        for rejected in view.rejected:
            prompt.append(Message("agent", rejected.reply))
            prompt.append(Message("user", rejected.error))
        return prompt

    def read(self, reply: Reply) -> str | None:
        """The environment reads the reply itself."""
        return reply.text

    def absorb(self, reply: Reply) -> Absorbed:
        """The reply's text is the action."""
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:
        """Nothing to commit."""

    def trace(self) -> JSON:
        """The session holds everything already."""
        return None


STRATEGY = FullHistory
