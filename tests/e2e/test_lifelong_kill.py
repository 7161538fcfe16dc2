"""SIGKILL in a stream with four learning callbacks: the resumed run is the uninterrupted one."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

import perdure
from tests.e2e.learner import MODEL_LOG
from tests.e2e.lifelong_parts import counter_config
from tests.e2e.test_kill import asked, die_at_write, in_child, is_charged, results, writes_of

KILL_POINTS = 40

CONFIG = counter_config(
    "erratic",
    {"name": "experience_replay", "k": 3, "select": "diverse", "max_tokens": 120},
    {"name": "group_self_consistency", "groups": 2, "group_size": 2},
    {"name": "reflection", "model": "default", "max_lessons": 3},
    {"name": "skill_library", "model": "default", "max_skills": 3},
    tasks=7,
    execution={"snapshot_every": 3, "fsync": False},
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to kill and resume quickly")
def test_killed_at_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "baseline.log"
    monkeypatch.setenv(MODEL_LOG, str(log))
    expected, calls = results(perdure.run(CONFIG, out=tmp_path / "baseline").folder), asked(log)
    writes = writes_of(lambda: perdure.run(CONFIG, out=tmp_path / "counted"))
    draw = random.Random(7)
    killed = 0
    for point in range(KILL_POINTS):
        folder, log = tmp_path / f"run{point}", tmp_path / f"run{point}.log"
        monkeypatch.setenv(MODEL_LOG, str(log))
        number, fraction = draw.randint(1, writes), draw.choice([0.0, 0.3, 0.9, 1.0])

        def doomed(folder: Path = folder, number: int = number, fraction: float = fraction) -> None:
            die_at_write(number, fraction)
            perdure.run(CONFIG, out=folder)

        status = in_child(doomed)
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        perdure.run(CONFIG, out=folder)
        assert results(folder) == expected, f"write {number}, {fraction:.0%} of it"
        # The votes of one turn are one batch: what was asked in it and not yet recorded is asked again.
        assert asked(log) <= calls + 2, f"write {number}: more than one batch was asked again"
        assert is_charged(folder, asked(log)), f"write {number}: a call is not charged"
    assert killed >= 30


def test_every_method_did_something(tmp_path: Path) -> None:
    run = perdure.run(CONFIG, out=tmp_path)
    deltas = [run.reader.line(i)["callbacks"] for i in range(7)]
    assert {name for delta in deltas for name in delta} == {
        "experience_replay",
        "group_self_consistency",
        "reflection",
        "skill_library",
    }
    assert any("dropped" in delta.get("experience_replay", {}) for delta in deltas)
    assert any(
        vote["winner"]
        for delta in deltas
        for vote in delta.get("group_self_consistency", {}).get("votes", [])
    )
