"""A model that plays the counter, well on most tasks and badly on some, with an answer to everything."""

from __future__ import annotations

import re

from perdure.core.types import Request

_VALUE = re.compile(r"counter is at (-?\d+)\.")
_GOAL = re.compile(r"counter to (-?\d+),")

ASIDE = "NAME: count-up\nWHEN: a counter must reach a goal\nSTEPS:\n1. Add what is missing.\n2. Say done."
"""What a learning method is answered, in the form that a skill library asks for; a lesson for others."""


def reply(request: Request) -> str:
    """Depends on the request alone: goals that 3 divides are given up at once."""
    texts = [message.text for message in request.messages]
    goals = [found for text in texts if (found := _GOAL.search(text)) and text.startswith("Bring")]
    values = _VALUE.findall(texts[-1])
    if not goals or not values:
        return ASIDE
    goal, value = int(goals[-1].group(1)), int(values[-1])
    if goal % 3 == 0:
        return "Action: done"
    gap = goal - value
    return "Action: done" if gap == 0 else f"Action: add {max(-9, min(9, gap))}"
