"""A model that plays the counter with nothing but its prompt: state, latest observation and goal."""

from __future__ import annotations

import json
import re

from perdure.core.types import Request

CANARY = "CANARY-5e1f"
CORRECTION = "\n\nYour last answer was not used"


def parts(request: Request) -> tuple[str, dict[str, int | None], str]:
    """System text, state and latest observation of a prompt."""
    system, user = request.messages
    match = re.fullmatch(r"State:\n```json\n(.*?)\n```\n\nLatest observation:\n(.*)", user.text, re.DOTALL)
    assert match is not None, user.text
    return system.text, json.loads(match[1]), match[2]


def play(request: Request) -> str:
    """Steps towards the target; reads the target from the goal only once, then from the state."""
    system, state, observation = parts(request)
    seen = re.search(r"counter is at (-?\d+)", observation)
    value = int(seen[1]) if seen else state["value"]
    goal = re.search(r"Bring the counter to (-?\d+)", system)
    assert goal is not None
    target = int(goal[1]) if state["target"] is None else state["target"]
    assert value is not None
    step = max(-9, min(9, target - value))
    action = f"Action: add {step}" if step else "Action: done"
    patch = {"value": value + step, "target": target}
    answer = json.dumps({"state_patch": patch, "action": action})
    return f"{CANARY}: I am at {value}.\n```json\n{answer}\n```"


def play_after_a_slip(request: Request) -> str:
    """Like `play`, but forgets a brace in every first answer to an observation."""
    answer = play_corrected(request)
    if CORRECTION in request.messages[1].text:
        return answer
    return answer.replace("}\n```", "\n```")


def play_corrected(request: Request) -> str:
    """Like `play`, with a prompt that may hold a correction."""
    system, user = request.messages
    text = user.text.split(CORRECTION)[0]
    return play(Request((system, type(user)("user", text))))
