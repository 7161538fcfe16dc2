"""The prompt of a step: constant system text, then state, then the latest observation. Nothing else, ever.

What is constant comes first, so that a server can cache the longest prefix.
"""

from __future__ import annotations

from perdure.core.types import Message
from perdure.state.extract import answer_text

_QUOTED = 2_000
"""Characters of a rejected answer that are quoted; the middle of a longer one is left out."""


def system_message(instructions: str, contract: str, goal: str) -> Message:
    """Everything that stays the same within a task; the goal last, because it differs between tasks."""
    parts = [instructions, contract, f"# Your goal\n{goal}" if goal else ""]
    return Message("system", "\n\n".join(part for part in parts if part))


def step_message(state_text: str, observation: str, correction: str = "", note: str = "") -> Message:
    """State and latest observation with the note beside it; after a rejected reply, the correction too."""
    text = f"State:\n```json\n{state_text}\n```\n\nLatest observation:\n{observation or '(nothing)'}"
    return Message("user", "\n\n".join(part for part in (text, note, correction) if part))


def correction(reply: str, error: str) -> str:
    """The error of a rejected reply and the input that it corrects: the answer, without the reasoning."""
    quoted = cut_middle(answer_text(reply).strip(), _QUOTED)
    return f"Your last answer was not used. Error: {error}\nIt was:\n{quoted}\nAnswer again, corrected."


def cut_middle(text: str, limit: int) -> str:
    """Head and tail of a text that is too long, with the cut said between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[len(text) - half :]}"
