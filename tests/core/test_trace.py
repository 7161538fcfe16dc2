from __future__ import annotations

import json
from pathlib import Path

from perdure.core.agent import Agent, ModelAgent
from perdure.core.environment import Opening
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON
from perdure.strategies.full_history import FullHistory
from tests.core.playing import play
from tests.core.worlds import Breakable


class Traced(FullHistory):
    """Records the goal it was started with."""

    def start(self, opening: Opening, instructions: str) -> None:
        self.goal = opening.goal

    def trace(self) -> JSON:
        return {"goal": self.goal}


def traced_agent(model: ModelHandle) -> Agent:
    return ModelAgent(model, Traced())


def test_what_a_strategy_recorded_is_kept_with_its_session_alone(tmp_path: Path) -> None:
    knobs = tmp_path / "knobs.json"
    knobs.write_text(json.dumps({"broken": ["0", "2"]}))
    world = Breakable(knobs=knobs, tasks=4)
    past = play(tmp_path / "run", ["end", "end"], environment=world, agent=traced_agent)
    assert [session.trace for session in past] == [None, {"goal": "Task 1."}, None, {"goal": "Task 3."}]
