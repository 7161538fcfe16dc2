"""Models and callbacks of the lifelong tests, as configurations name them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perdure import Callback, CallbackContext, Request
from perdure.core.randomness import keyed_random
from perdure.core.types import JSON
from perdure.environments.database.tasks import load_tasks
from tests.e2e.learner import MODEL_LOG

HERE = Path(__file__)
DONE = "Action: done"


def step(request: Request) -> str:
    """The counter's competent player."""
    last = next(m.text for m in reversed(request.messages) if "counter is at" in m.text)
    goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
    value = int(last.split("counter is at ")[1].split(".")[0])
    gap = int(goal.split("counter to ")[1].split(",")[0]) - value
    return DONE if gap == 0 else f"Action: add {max(-9, min(9, gap))}"


def erratic(request: Request) -> str:
    """Plays, reflects and distils, sometimes badly; the same question gets the same answer. Logs each."""
    log = os.environ.get(MODEL_LOG)
    if log:
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, b"asked\n")
        os.close(descriptor)
    texts = "\n".join(message.text for message in request.messages)
    draw = keyed_random(5, texts)
    last = request.messages[-1].text
    if "Write one lesson" in last:
        return f"lesson {draw.randint(0, 99)}"
    if "Write down how" in last:
        return f"Name: skill {draw.randint(0, 5)}\nWhen: Bring the counter\nSteps: step {draw.randint(0, 99)}"
    if "Reply with the number" in last:
        return str(draw.randint(0, 3))
    return step(request) if draw.random() < 0.7 else f"Action: add {draw.randint(-9, 9)}"


def copies_a_twin(request: Request) -> str:
    """Works out a task marked TEACH by SQL; of any other it only copies the answer of a solved twin."""
    kind = re.search(r"kind (\d+)", request.messages[1].text)
    assert kind is not None
    last = request.messages[-1].text
    if "TEACH" in request.messages[1].text:
        if len(request.messages) == 2:
            return f"Action: Operation\n```sql\nSELECT secret FROM t{kind[1]};\n```"
        return f"Action: Answer\nFinal Answer: {last}"
    shown = request.messages[0].text
    twin = re.search(rf"kind {kind[1]}\b.*?Final Answer: (\[[^\n\]]*\])", shown, re.S)
    return f"Action: Answer\nFinal Answer: {twin[1] if twin else '[]'}"


def twin_tasks(path: Path, lags: list[int]) -> list[int]:
    """A task file: a kind is taught once, and asked again so many solved tasks later. Returns the lags.

    Between teacher and student stand `lag - 1` filler tasks, each of a kind of its own and taught.
    """
    entries: dict[str, JSON] = {}
    kinds = 0

    def add(kind: int, teach: bool) -> None:
        secret = 1000 + 7 * kind
        goal = f"{'TEACH: ' if teach else ''}What is the secret of kind {kind} ?"
        entries[str(len(entries))] = {
            "instruction": goal,
            "skill_list": ["taught" if teach else f"lag_{lag}"],
            "table_info": {
                "name": f"t{kind}",
                "column_info_list": [{"name": "secret", "type": "INT"}],
                "row_list": [[secret]],
            },
            "answer_info": {"sql": f"SELECT secret FROM t{kind}", "direct": [[secret]], "md5": None},
        }

    for lag in lags:
        teacher = kinds
        for kind in range(kinds, kinds + lag):
            add(kind, teach=True)
        kinds += lag
        add(teacher, teach=False)
    path.write_text(json.dumps(entries))
    return lags


class Counting(Callback):
    """Shows how many sessions it has seen and how many the run holds."""

    name = "counting"

    def __init__(self) -> None:
        self._seen = 0

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        self._seen = [state or 0, *deltas][-1]

    def on_session_create(self, ctx: CallbackContext) -> None:
        ctx.session.experience.append(f"seen {self._seen}, past {len(ctx.past_sessions)}")
        self._seen += 1

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        return self._seen

    def snapshot_state(self) -> JSON:
        return self._seen


def counter_config(model: str, *callbacks: dict[str, Any], tasks: int = 6, **sections: Any) -> dict[str, Any]:
    """A run of the counter with one of the models above."""
    return {
        "environment": {"name": "counter", "tasks": tasks},
        "models": {"default": {"provider": "scripted", "replies": f"{HERE}:{model}"}},
        "callbacks": list(callbacks),
        **sections,
    }


def knows_every_other_task(request: Request) -> str:
    """Runs the shipped statement of every other task and commits its result; [] for the rest."""
    opening = next(m.text for m in request.messages if m.role == "user")
    known = list(load_tasks().tasks.values())[::2]
    sql = next((task.sql for task in known if opening.startswith(task.goal)), None)
    if len(request.messages) == 2 and sql is not None:
        return f"Action: Operation\n```sql\n{sql}\n```"
    answer = request.messages[-1].text if sql is not None else "[]"
    return f"Action: Answer\nFinal Answer: {answer}"
