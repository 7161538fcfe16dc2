"""A model that plays the first task of any shipped world right, under any strategy, and wrong where told."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from perdure.core.agent import ContextView
from perdure.core.callback import Callback, CallbackContext
from perdure.core.errors import ModelError
from perdure.core.types import Request, Trial
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.models.scripted import Given
from perdure.strategies.summary_prompt import asks_for_summary

HERE = Path(__file__)

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "counter": {"tasks": 1},
    "database": {},
    "operating_system": {},
    "knowledge_graph": {},
    "warehouse": {"tasks": 1, "horizon": 12},
    "repository": {"tasks": 1, "horizon": 12},
}
STRATEGIES: dict[str, dict[str, Any]] = {
    "full_history": {},
    "memory": {},
    "stateful": {},
    "structured_state": {},
    "hybrid": {"history_steps": 2},
    "observation_masking": {"window": 2},
    "sliding_window": {"turns": 2},
    "capped_summary": {"summary_tokens": 40},
    "prompt_compression": {"budget_tokens": 6000},
}
WRONG = {
    "counter": "Action: read",
    "database": "Action: Operation\n```sql\nSELECT 1;\n```",
    "operating_system": "Act: bash\n```bash\ntrue\n```",
    "knowledge_graph": "Action: get_relations(#7)",
    "warehouse": "Action: Wait",
    "repository": "Action: Wait",
}
"""Valid actions that are seldom what is right."""

SOLVED = "A task that was solved before"
WAYWARD = 2
"""From this repeat on the agent errs wherever it is shown no solved task."""


@cache
def solution(name: str) -> tuple[str, tuple[str, ...]]:
    """The first task's goal and the replies of the oracle, one a turn."""
    config = load_config({"environment": {"name": name, **ENVIRONMENTS[name]}, "agent": {"kind": "oracle"}})
    with Experiment(config) as experiment:
        environment, agent = experiment.environment, experiment.agent()
        trial = Trial(environment.task_ids()[0])
        opening = environment.reset(trial)
        agent.start(trial, opening)
        view = ContextView(environment.instructions, opening.goal, (), tuple(opening.history))
        replies: list[str] = []
        done = False
        while not done:
            reply = agent.infer(view)
            assert isinstance(reply, str)
            replies.append(reply)
            observation = environment.interact(reply)
            agent.observe(observation)
            done = observation.done
        return opening.goal, tuple(replies)


def _player(name: str) -> Callable[[Request], Given]:
    def play(request: Request) -> Given:
        goal, right = solution(name)
        texts = [message.text for message in request.messages if message.role != "agent"]
        if asks_for_summary(request.messages):
            return "a summary"
        if any("Write one lesson" in text or "Write down how" in text for text in texts):
            return f"Name: the way\nWhen: {' '.join(goal.split())}\nSteps: as before"
        draw = request.draw
        if (draw.repeat, draw.turn) == (1, 1):
            return "hm"
        action = right[min(draw.turn - 1 - (draw.repeat == 1), len(right) - 1)]
        if draw.repeat >= WAYWARD and not any(SOLVED in text for text in texts):
            action = WRONG[name]
        if any("state_patch" in text for text in texts):
            return json.dumps({"state_patch": {}, "action": action})
        return action

    return play


counter = _player("counter")
database = _player("database")
operating_system = _player("operating_system")
knowledge_graph = _player("knowledge_graph")
warehouse = _player("warehouse")
repository = _player("repository")


def broken(request: Request) -> Given:
    """Never answers."""
    return ModelError("the model is gone")


class Witness(Callback):
    """Writes down every inference that it sees, and whether the session's own file tells of it."""

    reach = "watch"

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        session = ctx.session
        current = self._folder / "current_sessions" / f"{session.index}.json"
        told = json.loads(current.read_text("utf-8"))["turns"] if current.exists() else None
        with (self._folder / "witness.jsonl").open("a") as file:
            file.write(json.dumps([session.index, session.turns, told]) + "\n")
