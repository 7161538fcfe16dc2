"""A subclass of a shipped environment, in a file, has that one's world with what it replaces."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError
from perdure.core.world import World
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.registry import load_world, plugin_names
from tests.sandboxes.availability import need_bubblewrap

SHIPPED = plugin_names("environment")
SUBCLASSES = """
from dataclasses import replace
from perdure.environments import {package} as shipped


class Mine(shipped.WORLD.environment):
    name = "mine"


class Deeper(Mine):
    pass


class Changed(shipped.WORLD.environment):
    pass


CHANGED = replace(shipped.WORLD, environment=Changed, max_interactions=2, do_nothing="I give up.")
"""
SMALL: dict[str, dict[str, Any]] = {
    "counter": {"tasks": 1},
    "warehouse": {"tasks": 1, "horizon": 12},
    "repository": {"tasks": 1, "horizon": 20},
}


def world_in(folder: Path, package: str, name: str) -> World:
    (folder / "mine.py").write_text(SUBCLASSES.format(package=package))
    return load_world(f"mine.py:{name}", base=folder)


@pytest.mark.parametrize("package", SHIPPED)
@pytest.mark.parametrize("name", ["Mine", "Deeper"])
def test_everything_but_the_class_is_inherited(tmp_path: Path, package: str, name: str) -> None:
    world, shipped = world_in(tmp_path, package, name), load_world(package)
    assert world.environment.__name__ == name
    others = [field.name for field in fields(World) if field.name != "environment"]
    assert [key for key in others if getattr(world, key) is not getattr(shipped, key)] == []


@pytest.mark.parametrize("package", SHIPPED)
def test_what_the_file_replaces_is_replaced_and_the_rest_stays(tmp_path: Path, package: str) -> None:
    world, shipped = world_in(tmp_path, package, "Changed"), load_world(package)
    assert (world.max_interactions, world.do_nothing) == (2, "I give up.")
    replaced = {"environment", "max_interactions", "do_nothing"}
    others = [field.name for field in fields(World) if field.name not in replaced]
    assert [key for key in others if getattr(world, key) is not getattr(shipped, key)] == []


@pytest.mark.parametrize("package", SHIPPED)
def test_the_inherited_oracle_solves_the_subclass(tmp_path: Path, package: str) -> None:
    if package == "operating_system":
        need_bubblewrap()
    world_in(tmp_path, package, "Mine")
    config = {
        "environment": {"name": f"{tmp_path}/mine.py:Mine", **SMALL.get(package, {})},
        "agent": {"kind": "oracle"},
        "execution": {"limit": 1, "fsync": False},
    }
    run = perdure.run(config, out=tmp_path / "run")
    assert [record.reward for record in run.records()] == [1.0]


@pytest.mark.parametrize("package", SHIPPED)
@pytest.mark.parametrize("of", ["shipped", "mine.py:Mine"])
def test_the_limit_of_actions_is_set_in_one_place(tmp_path: Path, package: str, of: str) -> None:
    world_in(tmp_path, package, "Mine")
    name = package if of == "shipped" else of
    with pytest.raises(ConfigError, match=r"environment\.max_interactions: "):
        Experiment(load_config({"environment": {"name": name, "max_interactions": 3}}), base=tmp_path)
