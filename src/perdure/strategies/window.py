"""Prompts that show the latest turns of a history, and how many fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from perdure.core.agent import ContextView
from perdure.core.types import Message


def windowed(view: ContextView, *, played: int, shown: int, note: str = "") -> list[Message]:
    """Instructions, what stood before the task, the goal, `note`, the latest `shown` of `played` turns.

    A turn is an observation and the reply to it; the latest observation comes after them and is always
    shown. O(shown) messages, whatever the length of the history.
    """
    history = view.noted_history
    opening = max(0, len(history) - 2 * played - 1)
    first = max(opening, len(history) - 2 * shown - 1)
    if first == opening and not note:
        visible = history[opening:]
    else:
        parts = (
            view.goal,
            note,
            history[first].text if first > opening else opening_observation(view, history[opening]),
        )
        visible = (Message("user", "\n\n".join(part for part in parts if part)), *history[first + 1 :])
    return [
        Message("system", view.text_instructions),
        *history[:opening],
        *visible,
        *rejections(view),
    ]


def opening_observation(view: ContextView, opening: Message) -> str:
    """The first observation without the goal that stands above it in the opening message."""
    return opening.text.removeprefix(view.goal).lstrip("\n")


def rejections(view: ContextView) -> Iterable[Message]:
    """What the model said in vain since the last observation, each with its error; the form comes last."""
    for number, item in enumerate(view.rejected, 1):
        latest = number == len(view.rejected) and view.reply_form
        yield Message("agent", item.reply)
        yield Message("user", f"{item.error}\n\n{view.reply_form}" if latest else item.error)


def largest_fitting(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, supposing that smaller ones fit too; 0 where none does.

    Tries 1, 2, 4, …, then halves the gap: what is tried is never more than twice the answer, so the work
    does not grow with `most`.
    """
    steps = [0]
    while steps[-1] < most:
        steps.append(min(most, max(1, 2 * steps[-1])))
    for low, high in pairwise(steps):
        if not fits(high):
            return _halve(low, high, fits)
    return most


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a text that fits, ending at a word's end; empty where none fits."""
    if fits(text):
        return text
    length = _halve(0, len(text), lambda end: fits(text[:end]))
    if length == 0:
        return ""
    cut = text[:length]
    # Half a word would be another word: `shelf_1` of `shelf_12`.
    if not text[length].isspace():
        head, space, _ = cut.rpartition(_last_space(cut))
        cut = head if space else cut
    shortened = cut.rstrip()
    return shortened if fits(shortened) else ""


def _halve(fitting: int, unfitting: int, fits: Callable[[int], bool]) -> int:
    while unfitting - fitting > 1:
        middle = (fitting + unfitting) // 2
        if fits(middle):
            fitting = middle
        else:
            unfitting = middle
    return fitting


def _last_space(text: str) -> str:
    """The last blank character of a text, or a blank that is not in it."""
    return next((character for character in reversed(text) if character.isspace()), " ")
