"""Experience replay and group self-consistency on real database tasks, against predictions in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.environments.database import WORLD, DatabaseEnvironment
from perdure.metrics.lifelong import skill_curves
from tests.e2e.lifelong_parts import HERE, twin_tasks

LAGS = [1, 1, 2, 4, 5, 16, 17, 3]


def database(folder: Path, *callbacks: dict[str, Any]) -> dict[str, Any]:
    return {
        "environment": {"name": "database", "tasks": str(folder / "tasks.json")},
        "models": {"default": {"provider": "scripted", "replies": f"{HERE}:copies_a_twin"}},
        "callbacks": list(callbacks),
    }


def predicted(k: int) -> list[bool]:
    """A taught task is always solved, so the student's twin is the lag-th newest success."""
    return [hit for lag in LAGS for hit in [True] * lag + [lag <= k]]


@pytest.mark.parametrize("k", [0, 1, 4, 16])
def test_the_curve_rises_exactly_as_predicted(tmp_path: Path, k: int) -> None:
    twin_tasks(tmp_path / "tasks.json", LAGS)
    run = perdure.run(database(tmp_path, {"name": "experience_replay", "k": k}), out=tmp_path / "run")
    assert [record.correct for record in run.records()] == predicted(k)
    assert WORLD.skills is not None
    skills = WORLD.skills(DatabaseEnvironment(tasks=tmp_path / "tasks.json"))
    curves = skill_curves(run.records(), skills)
    for skill, curve in curves.items():
        if skill.startswith("lag_"):
            assert curve[-1].rate == float(int(skill.removeprefix("lag_")) <= k)


def test_similar_goals_find_the_twin_at_any_distance(tmp_path: Path) -> None:
    twin_tasks(tmp_path / "tasks.json", LAGS)
    replay = {"name": "experience_replay", "k": 1, "select": "similar"}
    run = perdure.run(database(tmp_path, replay), out=tmp_path / "run")
    assert all(record.correct for record in run.records())


def test_groups_show_as_much_as_replay_would_but_one_group_alone_is_outvoted(tmp_path: Path) -> None:
    """The student's twin is in one group of four: the other voters answer [], and the majority is wrong."""
    twin_tasks(tmp_path / "tasks.json", [4])
    shared = {"name": "group_self_consistency", "groups": 4, "group_size": 1}
    together = {"name": "group_self_consistency", "groups": 1, "group_size": 4}
    split = perdure.run(database(tmp_path, shared), out=tmp_path / "split")
    whole = perdure.run(database(tmp_path, {**together, "compat": "paper"}), out=tmp_path / "whole")
    assert [record.correct for record in split.records()] == [True] * 4 + [False]
    # One group: a tie with the agent's own answer, which the original drops.
    assert [record.correct for record in whole.records()] == [True] * 5
    votes = split.reader.line(4)["callbacks"]["group_self_consistency"]["votes"]
    assert votes == [{"turn": 1, "votes": {"answer: []": 4, "answer: [(1000,)]": 1}, "winner": "answer: []"}]


def test_two_methods_in_one_run_work_together(tmp_path: Path) -> None:
    twin_tasks(tmp_path / "tasks.json", LAGS)
    methods = [
        {"name": "experience_replay", "k": 4},
        {"name": "group_self_consistency", "groups": 2, "group_size": 2},
    ]
    run = perdure.run(database(tmp_path, *methods), out=tmp_path / "run")
    # What replay shows is in every voter's prompt, so that all of them know what it knows.
    assert [record.correct for record in run.records()] == predicted(4)
