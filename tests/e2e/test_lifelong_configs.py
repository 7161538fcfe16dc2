"""The shipped lifelong configurations run, and the paper's grids are the paper's."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.experiment.config import RunConfig, load_config
from perdure.experiment.experiment import Experiment
from tests.e2e.lifelong_parts import HERE

CONFIGS = Path(__file__).parents[2] / "configs"


def test_the_database_stream_runs_with_both_methods(tmp_path: Path) -> None:
    model = f'models.default={{provider="scripted",replies="{HERE}:knows_every_other_task"}}'
    run = perdure.run(CONFIGS / "lifelong_db.toml", sets=[model], out=tmp_path / "run")
    deltas = [run.reader.line(i)["callbacks"] for i in range(len(run.sessions))]
    assert any("solved" in delta.get("experience_replay", {}) for delta in deltas)
    assert any("votes" in delta.get("group_self_consistency", {}) for delta in deltas)
    assert len(run.sessions[len(deltas) - 1].experience) == 4


@pytest.mark.parametrize("name", ["os", "kg"])
def test_the_other_streams_are_ready_to_run(name: str) -> None:
    """Configuration, environment, order by skill and both methods are built; playing needs their extras."""
    file = CONFIGS / f"lifelong_{name}.toml"
    model = 'models.default={provider="scripted",replies=["x"]}'
    with Experiment(load_config(file, [model, 'order="by_skill"']), base=file.parent) as experiment:
        experiment.check()
        assert len(experiment.schedule) == len(experiment.environment.task_ids()) > 0


def configurations(file: Path) -> list[RunConfig]:
    """Every run of a sweep file: its cases times its grid."""
    sweep: dict[str, Any] = tomllib.loads(file.read_text())
    axes = [[(key, value) for value in values] for key, values in sweep["grid"].items()]
    cases = [list(case["set"].items()) for case in sweep.get("cases", [{"set": {}}])]
    return [
        load_config(sweep["base"], [f"{key}={toml(value)}" for key, value in [*case, *combination]])
        for case in cases
        for combination in product(*axes)
    ]


def toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_the_papers_replay_grid() -> None:
    found = configurations(CONFIGS / "paper" / "lifelong_db_replay.toml")
    grid = {(c.models["default"].parameters["model"], c.callbacks[0].parameters["k"]) for c in found}
    assert len(grid) == len(found) == 60
    assert {k for _, k in grid} == {0, 1, 4, 16, 32, 64}


def test_the_papers_group_self_consistency_grid_is_at_equal_budget() -> None:
    found = configurations(CONFIGS / "paper" / "lifelong_db_group_self_consistency.toml")
    sizes = {(c.callbacks[0].parameters["groups"], c.callbacks[0].parameters["group_size"]) for c in found}
    by_budget = {budget: {s for s in sizes if s[0] * s[1] == budget} for budget in (1, 4, 8, 64)}
    assert {budget: len(members) for budget, members in by_budget.items()} == {1: 1, 4: 2, 8: 3, 64: 3}
    assert len(found) == 2 * len(sizes) == 18
