"""The prompt of a step: constant system text, then state, then the latest observation.

What is constant comes first, so that a server can cache the longest prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.types import Message
from perdure.state.contract import fenced
from perdure.state.extract import answer_text

_QUOTED = 2_000
"""Characters of a rejected answer that are quoted; the middle of a longer one is left out."""


def system_message(instructions: str, contract: str, goal: str, experience: Sequence[str] = ()) -> Message:
    """Everything that stays the same within a task; what is the same for all tasks comes first."""
    parts = [instructions, contract, *experience, f"# Your goal\n{goal}" if goal else ""]
    return Message("system", "\n\n".join(part for part in parts if part))


def step_message(
    state_text: str,
    observation: str,
    correction: str = "",
    note: str = "",
    earlier: Sequence[str] = (),
    contract: str = "",
) -> Message:
    """State and latest observation with the note beside it; after a rejected reply, the correction too.

    `earlier` are observations to be shown before the latest, oldest first; `contract` stands last where a
    layout wants it in every step.
    """
    state = f"State:\n```json\n{state_text}\n```"
    before = "\n\n".join(["Earlier observations, oldest first:", *earlier]) if earlier else ""
    latest = f"Latest observation:\n{observation or '(nothing)'}"
    parts = (state, before, latest, note, correction, contract)
    return Message("user", "\n\n".join(part for part in parts if part))


def correction(reply: str, error: str, form: str) -> str:
    """The error of a rejected reply and the input that it corrects: the answer, without the reasoning.

    What is quoted stands between fences, and the form that is asked for comes last: it is what gets copied.
    """
    quoted = fenced(cut_middle(answer_text(reply).strip(), _QUOTED), "")
    return (
        f"Your last answer was not used. Error: {error}\nIt was:\n{quoted}\n"
        f"Answer the latest observation again, in this form:\n{form}"
    )


def cut_middle(text: str, limit: int) -> str:
    """Head and tail of a text that is too long, with the cut said between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[len(text) - half :]}"
