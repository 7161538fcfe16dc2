"""The suite passes every shipped callback, and finds what a dishonest one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.conformance.callbacks import check_callback
from perdure.experiment.registry import plugin_names

NEEDED: dict[str, dict[str, object]] = {"max_prompt_growth": {"tokens_per_step": 1000.0}}


@pytest.mark.parametrize("name", plugin_names("callback"))
def test_shipped_callbacks_conform(name: str) -> None:
    results = list(check_callback(name, NEEDED.get(name)))
    assert [(result.name, result.detail) for result in results if not result.passed] == []
    assert sum(result.applicable for result in results) >= 4


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("abort_on_agent_errors", {"tolerance": 1}),
        ("experience_replay", {"select": "similar"}),
        ("experience_replay", {"k": 1}),
        ("skill_library", {"max_skills": 1}),
        ("group_self_consistency", {"groups": 2, "group_size": 1}),
    ],
)
def test_they_conform_with_other_parameters(name: str, parameters: dict[str, object]) -> None:
    results = list(check_callback(name, parameters))
    assert [(result.name, result.detail) for result in results if not result.passed] == []


HEAD = "from perdure import Callback\n\nclass Mine(Callback):\n"
BAD = {
    "a session callback keeps nothing": """
    reach = "session"
    count = 0
    def on_environment_reset(self, ctx):
        Mine.count += 1
        ctx.session.experience.append(f"task number {Mine.count}")
""",
    "a watcher changes nothing": """
    reach = "watch"
    def on_agent_inference(self, ctx):
        ctx.session.receive("Action: done")
""",
    "what learns is frozen by a control": """
    seen = []
    def on_environment_reset(self, ctx):
        ctx.session.experience.extend(Mine.seen)
        Mine.seen.append(ctx.session.goal)
""",
    "a resumed run is the same": """
    def __init__(self):
        self.seen = 0
    def on_environment_reset(self, ctx):
        self.seen += 1
        ctx.session.experience.append(f"{self.seen} tasks")
    def on_state_save(self, ctx):
        return self.seen
""",
    "a state is what its deltas fold to": """
    def __init__(self):
        self.seen = []
    def restore_state(self, state, deltas):
        self.seen = [*deltas]
    def on_state_save(self, ctx):
        self.seen.append(ctx.session.task_id)
        return ctx.session.task_id
    def snapshot_state(self):
        return self.seen
""",
    "deltas of siblings fold": """
    def __init__(self):
        self.seen = {}
    def restore_state(self, state, deltas):
        self.seen = state or {}
        for delta in deltas:
            if delta["number"] != len(self.seen):
                raise KeyError("not the next one")
            self.seen[delta["task"]] = 1
    def on_state_save(self, ctx):
        number = len(self.seen)
        self.seen[ctx.session.task_id] = 1
        return {"number": number, "task": ctx.session.task_id}
    def snapshot_state(self):
        return self.seen
""",
    "a run comes to its end": """
    def on_state_save(self, ctx):
        return {1, 2}
""",
    "equal runs are equal": """
    def on_environment_reset(self, ctx):
        ctx.session.experience.append(f"object {id(object())} {__import__('time').time_ns()}")
""",
}


@pytest.mark.parametrize("check", list(BAD))
def test_each_check_finds_its_fault(check: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + BAD[check])
    results = check_callback(f"{tmp_path}/mine.py:Mine")
    failed = {result.name: result.detail for result in results if not result.passed}
    assert check in failed
    assert "\n" not in failed[check]


def test_a_state_of_a_callback_that_has_none_is_refused(tmp_path: Path) -> None:
    for reach in ("session", "watch"):
        body = f"    reach = {reach!r}\n    def on_state_save(self, ctx):\n        return 1\n"
        (tmp_path / "mine.py").write_text(HEAD + body)
        first = next(iter(check_callback(f"{tmp_path}/mine.py:Mine")))
        assert f"on_state_save returned a state; its reach is {reach!r}, so it has none" in first.detail
