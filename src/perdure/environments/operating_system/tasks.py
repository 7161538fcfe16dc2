"""Tasks from files: the published LifelongAgentBench schema, and AgentBench's (see `agentbench`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.types import JSON, Task
from perdure.environments.task_forms import refuse_tables

SHIPPED = Path(__file__).parent / "data" / "tasks.json"

SKILLS = [
    "addgroup",
    "awk",
    "cat",
    "cd",
    "chage",
    "chgrp",
    "chmod",
    "chown",
    "chsh",
    "cp",
    "echo",
    "exit",
    "find",
    "gpasswd",
    "grep",
    "groupadd",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "rm",
    "sed",
    "sleep",
    "tee",
    "touch",
    "useradd",
    "usermod",
    "vi",
    "wc",
]
"""The 29 commands that the published tasks are labelled with (LifelongAgentBench)."""


@dataclass(frozen=True)
class Script:
    """A script of a task; `language` is bash or python."""

    text: str
    language: str = "bash"


@dataclass(frozen=True)
class Check:
    """One step of grading an answer: a script of the task, or one of the checkers of `answers` by name."""

    script: Script | None = None
    checker: str = ""


@dataclass(frozen=True)
class OsTask(Task):
    """One machine to be set up, changed and graded.

    A task is graded by its state (`evaluation`: a script that exits 0), by an answer (`match`), or by a chain
    of checks on it; where a check is None, the output of `solution` joins in (AgentBench).
    """

    initialization: Script = Script("")
    background: str = ""
    """A script that goes on running while the agent works."""
    evaluation: Script | None = None
    solution: Script | None = None
    match: str | None = None
    checks: tuple[Check | None, ...] = ()

    @property
    def takes_answer(self) -> bool:
        """The agent is asked for an answer."""
        return self.match is not None or bool(self.checks)


@dataclass(frozen=True)
class TaskSet:
    """Tasks by id, the ids that were left out with the reason, and the digest of what was read."""

    tasks: Mapping[str, OsTask]
    skipped: Mapping[str, str]
    digest: str


def load_tasks(path: Path | None = None) -> TaskSet:
    """Tasks of a file or, for AgentBench, of a folder; None: the shipped ones. Raises ConfigError."""
    path = path or SHIPPED
    if path.is_dir():
        from perdure.environments.operating_system.agentbench import load_folder

        return load_folder(path)
    content = _read_json(path)
    digest = sha256(path.read_bytes()).hexdigest()[:16]
    if isinstance(content, list):
        from perdure.environments.operating_system.agentbench import read_tasks

        tasks, skipped = read_tasks(content, path.parent, prefix="")
    else:
        tasks, skipped = _read_published(content, path), {}
    if not tasks:
        raise ConfigError(f"tasks: {str(path)!r} holds no task that can be run")
    return TaskSet(tasks, skipped, digest)


def _read_json(path: Path) -> JSON:
    try:
        raw = path.read_bytes()
        refuse_tables(path, raw)
        return json.loads(raw.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"tasks: {str(path)!r} cannot be read: {error}") from error


def _read_published(content: Mapping[str, JSON], path: Path) -> dict[str, OsTask]:
    """The published schema: a string index → entry with instruction, scripts and skills."""
    tasks = {}
    for id_, entry in content.items():
        try:
            tasks[id_] = read_task(id_, entry)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"tasks: {str(path)!r}, task {id_!r}: {error!r}") from error
    return tasks


def read_task(id_: str, entry: Mapping[str, Any]) -> OsTask:
    """One entry of the published schema. Raises KeyError, TypeError or ValueError saying what is wrong."""
    grading = entry["evaluation_info"]
    return OsTask(
        id=id_,
        goal=entry["instruction"],
        skills=tuple(entry["skill_list"]),
        initialization=_command(entry["initialization_command_item"]),
        evaluation=_command(grading["evaluation_command_item"]),
        solution=_command(grading["ground_truth_command_item"]),
    )


def _command(item: Mapping[str, Any]) -> Script:
    if item["command_name"] not in ("bash", "python"):
        raise ValueError(f"command_name must be bash or python, not {item['command_name']!r}")
    return Script(item["script"], item["command_name"])
