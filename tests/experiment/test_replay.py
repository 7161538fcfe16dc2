"""Replay finds every kind of difference between a run and the world as it is now."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import perdure
from perdure.experiment.replay import replay
from perdure.experiment.runs import Run

WORLD = '''
"""A counter whose answers hang on what `world.json` says now."""

import json
from dataclasses import replace
from pathlib import Path

from perdure.core.types import SessionStatus
from perdure.environments import counter
from perdure.environments.counter import CounterEnvironment

SETTINGS = Path("PLACE")


def settings():
    return json.loads(SETTINGS.read_text())


def normalise(text):
    return text.partition(" @")[0]


class World(CounterEnvironment):
    """Drifts."""

    def __init__(self):
        super().__init__(tasks=4)
        self.version = settings().get("version", "1")

    def reset(self, trial):
        task_id = trial.task_id
        if task_id in settings().get("lost", []):
            raise KeyError(task_id)
        opening = super().reset(trial)
        return replace(opening, goal=opening.goal + settings().get("goal", ""))

    def interact(self, action):
        observation = super().interact(action)
        changed = dict(settings().get("interact", {}))
        if "status" in changed:
            changed["status"] = SessionStatus(changed["status"])
        stamp = settings().get("stamp", "") if observation.text else ""
        return replace(observation, text=observation.text + stamp, **changed)

    def complete(self):
        return replace(super().complete(), **settings().get("complete", {}))


WORLD = replace(counter.WORLD, environment=World, normalise=normalise)
'''

Change = Callable[[dict[str, object]], None]


@pytest.fixture
def played(tmp_path: Path) -> tuple[Run, Change]:
    """A run of the oracle, and a way to change the world afterwards."""
    settings = tmp_path / "world.json"
    (tmp_path / "world.py").write_text(WORLD.replace("PLACE", str(settings)))
    settings.write_text(json.dumps({"stamp": " @ Monday"}))
    config = {
        "environment": {"name": str(tmp_path / "world.py") + ":World"},
        "agent": {"kind": "oracle"},
    }
    run = perdure.run(config, out=tmp_path / "run")

    def change(world: dict[str, object]) -> None:
        settings.write_text(json.dumps(world))

    return run, change


def test_an_unchanged_world_reproduces(played: tuple[Run, Change]) -> None:
    run, _ = played
    result = replay(run)
    assert result.reproduces
    assert result.sessions == 4
    assert result.steps == sum(len(past.interactions) for past in run.sessions) > 4
    assert result.differences == ()


def test_what_normalise_removes_may_differ(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"stamp": " @ Tuesday"})
    assert replay(run).reproduces


@pytest.mark.parametrize(
    ("world", "step", "fact", "now"),
    [
        ({"stamp": "!"}, 1, "text", "!"),
        ({"interact": {"accepted": False}}, 1, "accepted", "False"),
        ({"interact": {"done": True}}, 1, "done", "True"),
        ({"interact": {"status": "task_environment_error"}}, 1, "status", "task_environment_error"),
        ({"interact": {"reward": 0.5}}, 1, "reward", "0.5"),
        ({"goal": " Quickly."}, 0, "goal", "Quickly."),
        ({"complete": {"outcome": "incorrect"}}, None, "outcome", "incorrect"),
        ({"complete": {"reward": 0.5}}, None, "reward", "0.5"),
        ({"complete": {"detail": {"distance": 3}}}, None, "detail", "{'distance': 3}"),
    ],
)
def test_differences_are_found(
    played: tuple[Run, Change], world: dict[str, object], step: int | None, fact: str, now: str
) -> None:
    run, change = played
    change({"stamp": " @ Monday", **world})
    result = replay(run)
    assert not result.reproduces
    assert result.differing == 4
    first = result.differences[0]
    assert (first.task_id, first.repeat, first.step, first.fact) == ("0", 0, step, fact)
    assert now in first.now
    assert first.recorded != first.now


def test_a_lost_task_is_a_difference(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"lost": ["2"]})
    result = replay(run)
    assert result.differing == 1
    assert [difference.task_id for difference in result.differences] == ["2"]


def test_only_the_first_differences_are_kept(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"stamp": "!"})
    result = replay(run, keep=2)
    assert len(result.differences) == 2
    assert result.differing == 4


def test_another_version_is_not_played(played: tuple[Run, Change]) -> None:
    run, change = played
    change({"version": "2"})
    result = replay(run)
    assert not result.reproduces
    assert (result.sessions, result.version_recorded, result.version_now) == (0, "1", "2")


GIVES_UP = '''
from perdure import Callback, SessionStatus, Step


class GivesUp(Callback):
    """Skips the reset of one task and the grading of another."""

    def on_session_create(self, ctx):
        if ctx.session.task_id == "1":
            ctx.controller.skip(Step.RESET)
            ctx.session.finish(SessionStatus.AGENT_UNKNOWN_ERROR, "given up")

    def on_environment_reset(self, ctx):
        if ctx.session.task_id == "2":
            ctx.controller.skip(Step.COMPLETE)
'''


def test_sessions_that_a_callback_cut_short_still_reproduce(tmp_path: Path) -> None:
    (tmp_path / "gives_up.py").write_text(GIVES_UP)
    config = {
        "environment": {"name": "counter", "tasks": 4},
        "agent": {"kind": "oracle"},
        "callbacks": [{"name": str(tmp_path / "gives_up.py") + ":GivesUp"}],
    }
    result = replay(perdure.run(config, out=tmp_path / "run"))
    assert result.reproduces
    assert (result.sessions, result.ungraded) == (4, 2)


def test_progress_is_reported_after_each_session(played: tuple[Run, Change]) -> None:
    run, _ = played
    seen: list[tuple[int, int]] = []
    replay(run, on_session=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
