"""Which recorded call of the agent led to which action of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from perdure.core.errors import ModelError
from perdure.core.session import PastSession
from perdure.core.types import Message
from perdure.storage.records import RecordedCall

AGENT = "agent"

ReadsAction = Callable[[str], str | None]


@dataclass(frozen=True)
class StepCall:
    """The last time that the agent was asked in one step."""

    messages: tuple[Message, ...]
    action: str | None
    """Key of the action that the reply proposes; None where it holds none."""
    fell_back: bool
    """No reply of the step could be used: something else was done in its place."""


def calls_by_step(
    past: PastSession, calls: Iterable[RecordedCall], reads_action: ReadsAction
) -> list[StepCall | None]:
    """One entry for each action of a session, None where no call of the agent led to it.

    A call begins a new step when its prompt ends with the answer to the action before. `reads_action` gives
    the key of a reply's action.
    """
    observations = [interaction.observation.text for interaction in past.interactions]
    found: list[StepCall | None] = [None] * len(observations)
    step = 0
    for call in calls:
        if call.caller != AGENT or isinstance(call.outcome, ModelError):
            continue
        before = found[step] if step < len(found) else None
        if before is not None and _goes_on(call, before, observations[max(0, step - 1) : step + 1]):
            step += 1
        if step >= len(found):
            break
        key = reads_action(call.outcome.text)
        done = past.record.fallbacks == 0 or key == reads_action(past.interactions[step].action)
        found[step] = StepCall(call.messages, key, not done)
    return found


def _goes_on(call: RecordedCall, before: StepCall, observations: Sequence[str]) -> bool:
    """Whether a call is asked after the step of the call before it, and not once more in it."""
    *earlier, after = observations
    shown, shown_before = call.messages[-1].text, before.messages[-1].text
    if after not in shown:
        return False
    if after not in earlier or len(call.messages) != len(before.messages):
        return True
    # The same was observed twice: asked once more in a step, a correction stands below it.
    return shown == shown_before or not shown.startswith(shown_before)
