"""Reads task files: LifelongAgentBench's, AgentBench's, and this project's own in the form of the first.

    {"0": {"question": …, "entity_dict": {name: id}, "s_expression": …, "action_list": […],
           "answer_list": […]}}
    [{"question": …, "entities": {name: id}, "s_expression": …, "actions": […],
      "answer": [{"answer_argument": …}]}]

In the published parquet form of the first, structures are texts that hold Python literals; both are read.
`"keep_topic": true` says that the entities of the question may be among its answers.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perdure.core.types import JSON, Task
from perdure.environments.knowledge_graph.actions import ARITY
from perdure.environments.task_forms import refuse_tables


@dataclass(frozen=True)
class KnowledgeGraphTask(Task):
    """A question, its entities, and how it is answered."""

    entities: Mapping[str, str] = field(default_factory=dict)
    s_expression: str = ""
    actions: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()
    keep_topic: bool = False


def load_tasks(path: Path) -> dict[str, KnowledgeGraphTask]:
    """Tasks by id, in the order of the file. Raises OSError, ValueError that names the entry, ConfigError."""
    raw = path.read_bytes()
    refuse_tables(path, raw)
    try:
        content = json.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: not JSON: {error}") from error
    if isinstance(content, list):
        content = {str(i): entry for i, entry in enumerate(content)}
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path.name}: expected an object or a list of tasks")
    tasks = {}
    for task_id, entry in content.items():
        try:
            tasks[task_id] = read_task(task_id, entry)
        except (KeyError, TypeError, SyntaxError, ValueError) as error:
            raise ValueError(f"{path.name}: entry {task_id!r}: {type(error).__name__}: {error}") from error
    return tasks


def read_task(task_id: str, entry: Mapping[str, JSON]) -> KnowledgeGraphTask:
    """One entry of a task file. Raises KeyError, TypeError, ValueError, SyntaxError: what is wrong."""
    agentbench = "actions" in entry
    actions = tuple(_structure(entry["actions" if agentbench else "action_list"]))
    answers = (
        [answer["answer_argument"] for answer in entry["answer"]]
        if agentbench
        else _structure(entry["answer_list"])
    )
    used = {action.partition("(")[0] for action in actions}
    unknown = used - set(ARITY)
    if unknown or not actions:
        raise ValueError(f"unknown actions: {sorted(unknown)}" if unknown else "no actions")
    return KnowledgeGraphTask(
        id=task_id,
        goal=str(entry["question"]),
        skills=tuple(name for name in ARITY if name in used),
        entities=dict(_structure(entry["entities" if agentbench else "entity_dict"])),
        s_expression=str(entry["s_expression"]),
        actions=actions,
        answers=frozenset(map(str, answers)),
        keep_topic=bool(entry.get("keep_topic", False)),
    )


def _structure(value: JSON) -> JSON:
    """A structure, or the one a text writes as a Python literal."""
    return ast.literal_eval(value) if isinstance(value, str) else value
