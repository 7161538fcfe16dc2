"""Task files: shipped, published, AgentBench's; what is wrong with a file is said."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perdure.core.errors import ConfigError
from perdure.core.types import Trial
from perdure.environments.operating_system.actions import Bash, parse_action
from perdure.environments.operating_system.oracle import OracleAgent
from perdure.environments.operating_system.tasks import SKILLS, load_tasks

SHARED = Path(__file__).parents[4] / "shared" / "data"
PUBLISHED = SHARED / "lifelongagentbench" / "os_interaction.json"
AGENTBENCH = SHARED / "agentbench" / "os_interaction"

needs_published = pytest.mark.skipif(
    not PUBLISHED.is_file(), reason="the published tasks are not beside the project"
)
needs_agentbench = pytest.mark.skipif(
    not AGENTBENCH.is_dir(), reason="AgentBench's tasks are not beside the project"
)


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


ENTRY = {
    "instruction": "do it",
    "initialization_command_item": {"command_name": "bash", "script": ""},
    "evaluation_info": {
        "evaluation_command_item": {"command_name": "bash", "script": "test -e /x"},
        "ground_truth_command_item": {"command_name": "python", "script": "open('/x', 'w')"},
    },
    "skill_list": ["touch"],
}


def test_the_shipped_tasks_cover_every_skill_twice() -> None:
    tasks = load_tasks().tasks
    counts = Counter(skill for task in tasks.values() for skill in task.skills)
    assert len(tasks) >= 40
    assert set(counts) == set(SKILLS)
    assert len(SKILLS) == 29
    assert min(counts.values()) >= 2


def test_shipped_tasks_differ_and_use_the_skills_they_are_labelled_with() -> None:
    tasks = load_tasks().tasks.values()
    assert len({task.goal for task in tasks}) == len(tasks)
    for task in tasks:
        assert task.solution is not None
        missing = [
            skill for skill in task.skills if not re.search(rf"(?:\b|\\n){skill}\b", task.solution.text)
        ]
        assert not missing, f"task {task.id}: {missing}"


def test_a_published_file_is_read(tmp_path: Path) -> None:
    loaded = load_tasks(write(tmp_path / "tasks.json", {"7": ENTRY}))
    task = loaded.tasks["7"]
    assert (task.goal, task.skills) == ("do it", ("touch",))
    assert task.solution is not None
    assert task.solution.language == "python"
    assert loaded.digest != load_tasks().digest


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "no task"),
        ([], "no task"),
        ({"0": {**ENTRY, "instruction": None, "skill_list": None}}, "task '0'"),
        ({"0": {"instruction": "x"}}, "initialization_command_item|evaluation_info|skill_list"),
        ({"0": {**ENTRY, "initialization_command_item": {"command_name": "c++", "script": ""}}}, r"c\+\+"),
        ([{"description": "x"}], "evaluation"),
        (
            [
                {
                    "description": "x",
                    "evaluation": {"match": "1"},
                    "create": {"init": {"language": "c", "code": ""}},
                }
            ],
            "'c'",
        ),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_tasks(write(tmp_path / "tasks.json", content))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tasks(tmp_path / "tasks.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tasks(tmp_path / "absent.json")


def test_a_task_whose_script_file_is_absent_is_left_out_with_the_reason(tmp_path: Path) -> None:
    present = {
        "description": "a",
        "evaluation": {"match": "1"},
        "create": {"init": {"file": "init/there.sh"}},
    }
    absent = {"description": "b", "evaluation": {"check": {"file": "check/gone.sh"}}}
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "there.sh").write_text("touch /there")
    loaded = load_tasks(write(tmp_path / "tasks.json", [present, absent]))
    assert list(loaded.tasks) == ["0"]
    assert loaded.tasks["0"].initialization.text == "touch /there"
    assert "check/gone.sh" in loaded.skipped["1"]


@needs_published
def test_every_published_task_loads() -> None:
    tasks = load_tasks(PUBLISHED).tasks
    assert len(tasks) == len(json.loads(PUBLISHED.read_text()))
    assert {skill for task in tasks.values() for skill in task.skills} <= set(SKILLS)


@needs_published
def test_every_published_ground_truth_survives_the_action_grammar() -> None:
    from perdure.core.agent import ContextView
    from perdure.core.environment import Opening
    from perdure.core.history import InteractionHistory
    from perdure.core.types import Observation

    oracle = OracleAgent(load_tasks(PUBLISHED).tasks)
    view = ContextView("", "", (), ())
    for task in load_tasks(PUBLISHED).tasks.values():
        oracle.start(Trial(task.id), Opening("", Observation(""), InteractionHistory()))
        assert task.solution is not None
        assert parse_action(oracle.infer(view)) == Bash(task.solution.text)


@needs_agentbench
def test_agentbench_loads() -> None:
    loaded = load_tasks(AGENTBENCH / "data")
    checkers = Counter(check.checker for task in loaded.tasks.values() for check in task.checks if check)
    assert len(loaded.tasks) + len(loaded.skipped) == 89
    assert checkers["integer-match"] > 30
    assert all("is absent" in reason for reason in loaded.skipped.values())
    assert len(load_tasks(AGENTBENCH / "train_0317.json").tasks) == 500
