"""A world kept in a file, so that a killed program finds it as it left it."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pydantic import BaseModel

from perdure import Request, StateAgent
from perdure.models.scripted import ScriptedModel

TARGET = 12


class Count(BaseModel):
    believed: int = 0
    unsure: int = 0


def script(request: Request) -> str:
    """Counts up to the target; after an interruption it reads before it goes on."""
    prompt = request.messages[-1].text
    state = json.loads(prompt.split("```json\n")[1].split("\n```")[0])
    observation = prompt.split("Latest observation:\n")[1]
    believed = int(observation.split()[-1]) if observation.startswith("it is") else state["believed"]
    patch = {"believed": believed}
    if "interrupted" in observation:
        patch["unsure"] = state["unsure"] + 1
        action = {"tool": "read", "arguments": {}}
    elif believed >= TARGET:
        action = {"tool": "finish", "arguments": {"answer": str(believed)}}
    else:
        action = {"tool": "add", "arguments": {"amount": 1}}
    return json.dumps({"state_patch": patch, "action": action})


def make_agent(folder: Path, dies_in_call: int = 0, after_effect: bool = False) -> StateAgent:
    """An agent whose tool kills the process in its n-th call, before or after it took effect."""
    file, calls = folder / "world.txt", 0

    def value() -> int:
        return int(file.read_text("utf-8")) if file.exists() else 0

    def add(amount: int) -> str:
        """Add to the count."""
        nonlocal calls
        calls += 1
        if calls == dies_in_call and not after_effect:
            os.kill(os.getpid(), signal.SIGKILL)
        file.write_text(str(value() + amount), "utf-8")
        if calls == dies_in_call:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"it is {value()}"

    def read() -> str:
        """Look at the count."""
        return f"it is {value()}"

    return StateAgent(
        model=ScriptedModel(script),
        instructions="Count.",
        state=Count,
        tools=[add, read],
        journal=folder / "agent.jsonl",
    )


if __name__ == "__main__":
    make_agent(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "after").run(f"count to {TARGET}")
