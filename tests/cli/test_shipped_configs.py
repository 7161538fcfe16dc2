"""The configurations of the repository run, and the example shows every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from perdure.experiment.config import RunConfig, load_config
from tests.cli.conftest import Perdure

CONFIGS = Path(__file__).parents[2] / "configs"
PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "lifelongagentbench" / "db_bench.json"


def keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from keys(part)


def test_the_example_shows_every_key() -> None:
    lines = (CONFIGS / "example.toml").read_text().splitlines()
    shown = {line.lstrip("# ").partition(" =")[0] for line in lines if " =" in line}
    shown |= {part for line in lines if line.startswith("[") for part in line.strip("[]").split(".")}
    assert set(keys(RunConfig)) <= shown


def test_the_example_runs_offline(perdure: Perdure) -> None:
    result = perdure("run", CONFIGS / "example.toml", "--quiet", "--json")
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    assert body["success"]["rate"] == 1.0
    assert body["sessions"] == 10


def test_the_example_can_be_estimated_for_a_model(perdure: Perdure) -> None:
    result = perdure("run", CONFIGS / "example.toml", "--dry-run", "--json", "--set", "agent.kind=model")
    assert json.loads(result.stdout)["first_prompt_tokens"] > 1000


def test_execution_defaults_of_the_example_are_the_real_ones() -> None:
    example = load_config(CONFIGS / "example.toml")
    plain = load_config({"environment": {"name": "database"}})
    assert example.execution.model_copy(update={"limit": None}) == plain.execution
    assert example.agent.sampling.model_copy(update={"max_tokens": None}) == plain.agent.sampling


@pytest.mark.skipif(not PUBLISHED.exists(), reason="LifelongAgentBench's published tasks are not at hand")
def test_the_published_database_tasks(perdure: Perdure) -> None:
    arguments = ["--set", f"environment.tasks={PUBLISHED}", "--out", "lab", "--quiet", "--json"]
    result = perdure("run", CONFIGS / "lab_database.toml", *arguments)
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    tasks = len(json.loads(PUBLISHED.read_text()))
    assert body["success"]["correct"] == body["success"]["of"] == tasks
    skills = {key for key in body["metrics"] if key.startswith("skill.") and key.endswith("correct_rate")}
    assert len(skills) == 22
    assert perdure("replay", "lab").stdout.startswith(f"{tasks}/{tasks} sessions reproduce")


def test_a_missing_task_file_is_one_line(perdure: Perdure) -> None:
    result = perdure("run", CONFIGS / "lab_database.toml", "--set", "environment.tasks=absent.json")
    assert result.exit_code == 2
    assert "absent.json" in result.stderr
    assert result.stderr.count("\n") == 1
