"""Plays the repository as well as a prompt allows: the information ceiling of a context strategy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.core.types import Message
from perdure.environments.repository.belief import Belief, read_summary, summarise
from perdure.environments.repository.parameters import Verbs
from perdure.environments.skillexec.prompt_reading import (
    Block,
    Marked,
    last_block,
    read_messages,
    reply_format,
    split_summary,
    write_reply,
)


def perfect_reader(messages: Sequence[Message]) -> str:
    """The best reply to a prompt, in the form that the prompt asks for. Deterministic; never raises."""
    belief = believe(messages)
    shown = last_block(messages, "branches") or {}
    return write_reply(reply_format(messages), str(belief.decide()), shown, belief.repository.state())


def perfect_summary(messages: Sequence[Message]) -> str:
    """What a prompt tells of the repository, as prose that `perfect_reader` and this function read back."""
    return summarise(believe(messages).repository)


def believe(messages: Sequence[Message]) -> Belief:
    """A state and the latest observation, or else a summary and everything after it, in order."""
    belief = Belief(_verbs(messages))
    marks = [mark for mark in read_messages(messages) if isinstance(mark, Marked)]
    state = last_block(messages, "branches")
    if state is not None:
        # What was said earlier is in the state already; told again it would mix heads of different times.
        belief.read_state(state)
        marks = _latest(marks)
    summary, marks = split_summary(marks)
    for topic, text in summary:
        read_summary(belief.repository, topic, text)
    follow(belief, marks)
    return belief


def follow(belief: Belief, marks: Iterable[Marked | Block]) -> None:
    """Let a belief hear events and results in their order."""
    for mark in marks:
        if isinstance(mark, Block):
            continue
        if mark.label == "Event":
            belief.read_event(mark.text)
        elif mark.label == "Result":
            belief.read_result(mark.text)


def _latest(marks: Sequence[Marked]) -> list[Marked]:
    """The last event and the result right before it."""
    last = max((i for i, mark in enumerate(marks) if mark.label == "Event"), default=None)
    if last is None:
        return []
    before = [mark for mark in marks[max(0, last - 1) : last] if mark.label == "Result"]
    return [*before, marks[last]]


def _verbs(messages: Sequence[Message]) -> Verbs:
    """Which verbs there are, as the instructions tell them."""
    text = "\n".join(message.text for message in messages if message.role != "agent")
    if "CreatePR topic" in text and "RunTests topic" not in text:
        return "appendix"
    if "RunTests topic" in text and "CreatePR topic" not in text:
        return "main"
    return "union"
