"""Replay asks no model: calls that were made inside the environment are served from the record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ModelUnavailable
from perdure.core.types import SessionStatus
from perdure.experiment.replay import Replay, replay
from perdure.experiment.runs import Run

WORLD = '''
"""A counter with somebody who talks back: a model, asked at the opening, at each step, at the end."""

import json
from dataclasses import replace
from pathlib import Path

from perdure.core.errors import ModelError
from perdure.core.pool import ModelHandle
from perdure.core.types import Completion, Message, Request
from perdure.environments import counter
from perdure.environments.counter import CounterEnvironment

SETTINGS = Path("PLACE")


class Talking(CounterEnvironment):
    """Every answer is what a user says."""

    def __init__(self, user: ModelHandle):
        super().__init__(tasks=3)
        self._user = user
        self.version = "1"
        self._said = []

    def _ask(self, prompt):
        settings = json.loads(SETTINGS.read_text())
        self._said.append(Message("user", prompt + settings.get("more", "")))
        (outcome,) = self._user.generate([Request(tuple(self._said))])
        if isinstance(outcome, ModelError):
            raise outcome
        self._said.append(Message("agent", outcome.text))
        return outcome.text

    def reset(self, trial):
        self._said = []
        opening = super().reset(trial)
        return replace(opening, goal=opening.goal + " " + self._ask(f"begin {trial.repeat}"))

    def interact(self, action):
        observation = super().interact(action)
        said = self._ask(action) if json.loads(SETTINGS.read_text()).get("talks", True) else "…"
        return replace(observation, text=observation.text + " " + said)

    def complete(self):
        self._ask("end")
        return super().complete()


WORLD = replace(counter.WORLD, environment=Talking)
'''

USER = '''
from perdure.core.errors import ModelError
from perdure.core.types import Completion, Message
from perdure.core.usage import TokenCount, Usage

ASKED = []


class User:
    """Says something new whenever it is asked."""

    def __init__(self):
        if (FOLDER / "no-key").exists():
            raise ValueError("no key")

    def generate(self, requests):
        with (FOLDER / "asked").open("a") as file:
            for i, request in enumerate(requests):
                file.write("x")
                file.flush()
                said = (FOLDER / "asked").stat().st_size
                if request.messages[-1].text.startswith(FAILS_AT):
                    yield i, ModelError("blocked")
                    continue
                yield i, Completion(f"answer {said}", usage=Usage(1, 1))

    def count_tokens(self, messages):
        return TokenCount(1, exact=False)
'''

Change = Callable[[dict[str, Any]], None]


def play(tmp_path: Path, fails_at: str = "never", callbacks: list[str] | None = None) -> tuple[Run, Change]:
    settings = tmp_path / "settings.json"
    settings.write_text("{}")
    (tmp_path / "talking.py").write_text(WORLD.replace("PLACE", str(settings)))
    header = f"from pathlib import Path\nFOLDER, FAILS_AT = Path({str(tmp_path)!r}), {fails_at!r}\n"
    (tmp_path / "user.py").write_text(header + USER)
    config = {
        "environment": {"name": f"{tmp_path / 'talking.py'}:Talking", "user": "user"},
        "agent": {"kind": "oracle"},
        "models": {"user": {"provider": f"{tmp_path / 'user.py'}:User"}},
        "callbacks": [{"name": name} for name in callbacks or []],
        "execution": {"out": str(tmp_path / "run"), "repeat": 2},
    }
    run = perdure.run(config)
    assert len(run.sessions) == 6

    def change(changes: dict[str, Any]) -> None:
        settings.write_text(json.dumps(changes))

    return run, change


@pytest.fixture
def played(tmp_path: Path) -> tuple[Run, Change]:
    return play(tmp_path)


def again(run: Run) -> Replay:
    return replay(perdure.load(run.folder))


def test_a_world_with_a_simulated_user_reproduces_and_nobody_is_asked(
    played: tuple[Run, Change], tmp_path: Path
) -> None:
    run, _ = played
    asked = (tmp_path / "asked").stat().st_size
    (tmp_path / "no-key").touch()  # the model cannot even be built
    found = again(run)
    assert found.reproduces, found.differences
    assert (found.sessions, (tmp_path / "asked").stat().st_size) == (6, asked)


def test_another_prompt_is_a_difference_with_its_place(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"more": "!"})
    found = again(run)
    assert found.differing == 6
    first = found.differences[0]
    assert (first.step, first.fact, first.recorded, first.now) == (
        0,
        "call 0 of environment",
        "user: begin 0",
        "user: begin 0!",
    )


def test_fewer_calls_are_a_difference(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"talks": False})
    found = again(run)
    assert found.differing == 6
    assert found.differences[0].step == 1


@pytest.mark.parametrize("fails_at", ["begin", "Action: add", "end"])
def test_a_user_that_failed_fails_again(tmp_path: Path, fails_at: str) -> None:
    run, _ = play(tmp_path, fails_at)
    statuses = {past.record.status for past in run.sessions}
    assert statuses == {SessionStatus.TASK_ENVIRONMENT_ERROR}, "the model fails in every task"
    (tmp_path / "no-key").touch()
    found = again(run)
    assert found.reproduces, found.differences


UNGRADED = """
from perdure.core.callback import Callback, Step


class Ungraded(Callback):
    name, reach, learns = "ungraded", "session", False

    def on_environment_interact(self, ctx):
        ctx.controller.skip(Step.COMPLETE)
"""


def test_a_grading_that_was_skipped_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "ungraded.py").write_text(UNGRADED)
    run, _ = play(tmp_path, callbacks=[f"{tmp_path / 'ungraded.py'}:Ungraded"])
    found = again(run)
    assert found.reproduces, found.differences
    assert found.ungraded == 6


def test_the_wall_clock_is_recorded_and_served(tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    config = {
        "environment": {"name": "database"},
        "clock": "wall",
        "agent": {"kind": "model"},
        "models": {"default": {"provider": "scripted", "replies": [SQL, ANSWER], "cycle": True}},
        "tasks": ["0", "1"],
        "execution": {"out": str(tmp_path / "run")},
    }
    run = perdure.run(config)
    clocks, after = [past.record.clock for past in run.sessions], datetime.now(UTC)
    assert all(before <= clock <= after for clock in clocks)
    for past, clock in zip(run.sessions, clocks, strict=True):
        assert f"{clock:%Y-%m-%d %H:%M:%S}" in past.interactions[0].observation.text
    assert all(clock.microsecond == 0 for clock in clocks)
    assert again(run).reproduces


def test_a_task_that_was_interrupted_goes_on_at_its_first_start(tmp_path: Path) -> None:
    """The server is gone at the second question; some seconds later the same command goes on."""
    (tmp_path / "moody.py").write_text(
        MOODY.replace("PLACE", str(tmp_path)) + f"\n\nSQL, ANSWER, OPENING = {SQL!r}, {ANSWER!r}, {OPENING}\n"
    )
    config = {
        "environment": {"name": "database"},
        "clock": "wall",
        "agent": {"kind": "model"},
        "models": {"default": {"provider": f"{tmp_path / 'moody.py'}:Moody"}},
        "tasks": ["0"],
        "execution": {"out": str(tmp_path / "run")},
    }
    with pytest.raises(ModelUnavailable):
        perdure.run(config)
    time.sleep(1.1)  # another second of the wall clock
    (tmp_path / "back").touch()
    run = perdure.run(config)
    (past,) = run.sessions
    texts = {interaction.observation.text for interaction in past.interactions[:2]}
    assert len(texts) == 1, "both statements were told the same present"
    assert f"{past.record.clock:%Y-%m-%d %H:%M:%S}" in texts.pop()
    assert run.summary().divergences == 0
    assert again(run).reproduces


MOODY = """
from pathlib import Path

from perdure.core.errors import ModelUnavailable
from perdure.core.types import Completion
from perdure.core.usage import TokenCount, Usage


class Moody:
    def generate(self, requests):
        for i, request in enumerate(requests):
            turns = sum(message.role == "agent" for message in request.messages) - OPENING
            if turns >= 1 and not (Path("PLACE") / "back").exists():
                raise ModelUnavailable("gone")
            yield i, Completion(ANSWER if turns >= 2 else SQL, usage=Usage(1, 1))

    def count_tokens(self, messages):
        return TokenCount(1, exact=False)
"""

SQL = "Action: Operation\n```sql\nSELECT NOW()\n```"
ANSWER = "Action: Answer\nFinal Answer: []"
OPENING = 1
"""Turns of an agent in the opening of a database task: it agrees to the rules."""
