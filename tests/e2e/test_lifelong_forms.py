"""The stateless control and frozen probes, on runs with learning callbacks that would show any leak."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import RunFolderError
from perdure.core.session import NoPastSessions
from perdure.core.types import SessionStatus
from perdure.experiment.config import ProbesSection
from perdure.experiment.probes import probe_positions, read_probes, run_transfer
from tests.e2e.lifelong_parts import HERE, counter_config
from tests.e2e.test_kill import die_at_write, in_child

REPLAY = {"name": "experience_replay", "k": 2}
COUNTING = {"name": f"{HERE}:Counting"}
REFLECTION = {"name": "reflection", "model": "default"}
SKILLS = {"name": "skill_library", "model": "default"}


def files(folder: Path) -> dict[str, bytes]:
    names = [
        *folder.rglob("sessions.jsonl"),
        *folder.rglob("metrics.json"),
        *folder.rglob("snapshots/*.json"),
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def test_the_control_remembers_nothing_and_spends_nothing_on_learning(tmp_path: Path) -> None:
    config = counter_config("erratic", REPLAY, COUNTING, REFLECTION, SKILLS, stateless=True)
    run = perdure.run(config, out=tmp_path)
    assert [session.experience for session in run.sessions] == [("seen 0, past 0",)] * 6
    assert set(run.summary().tokens) == {"agent"}
    assert [run.reader.line(i)["callbacks"] for i in range(6)] == [{}] * 6


def test_the_control_plays_the_same_tasks_in_the_same_order(tmp_path: Path) -> None:
    config = counter_config("erratic", REPLAY, order="shuffled")
    stream = perdure.run(config, out=tmp_path / "stream")
    control = perdure.run({**config, "stateless": True}, out=tmp_path / "control")
    assert [r.task_id for r in stream.records()] == [r.task_id for r in control.records()]
    assert stream.hash != control.hash


def test_callbacks_still_help_within_a_task_of_the_control(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "def reply(request):\n    return 'Action: done' if 'Again!' in request.messages[-1].text else 'Hm.'\n"
    )
    again = {"name": "regenerate_on_invalid_action", "error": "Again!"}
    config = counter_config("step", again, stateless=True)
    config["models"]["default"]["replies"] = f"{tmp_path}/model.py:reply"
    run = perdure.run(config, out=tmp_path / "run")
    assert {(record.turns, record.interactions) for record in run.records()} == {(2, 1)}


def test_watchers_of_the_control_see_every_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = counter_config("step", {"name": "save_current_session"}, stateless=True)
    run = perdure.run(config, out=tmp_path, watchers=["progress"])
    assert "6/6 tasks · success 100.0%" in capsys.readouterr().err
    assert list((run.folder / "current_sessions").iterdir()) == []


def config_of() -> dict[str, Any]:
    """A stream of six tasks of eight; the probes hold one that it never sees."""
    sections = {
        "tasks": ["0", "1", "2", "3", "4", "5"],
        "probes": {"checkpoints": 2, "tasks": ["0", "5", "7"]},
        "execution": {"snapshot_every": 3},
    }
    return {**counter_config("erratic", REPLAY, COUNTING, REFLECTION, SKILLS, tasks=8), **sections}


def test_probes_play_all_tasks_with_the_memory_of_their_moment(tmp_path: Path) -> None:
    run = perdure.run(config_of(), out=tmp_path)
    probes = read_probes(run.folder)
    assert list(probes) == [0, 3, 6]
    for position, reader in probes.items():
        assert [record.task_id for record in reader.records()] == ["0", "5", "7"]
        for session in reader:
            assert f"seen {position}, past {position}" in session.experience
        assert all(line["callbacks"] == {} for line in reader.lines())
    completed = SessionStatus.COMPLETED  # one that a limit ended is no example, though it was right
    records = enumerate(run.records())
    solved = [i for i, record in records if record.correct and record.status is completed]
    shown = [text for text in probes[6][0].experience if "solved before" in text]
    assert [text.count(run.sessions[i].goal) for i, text in zip(solved[-2:], shown, strict=True)] == [1, 1]
    assert "callback:reflection" not in {
        call[1] for reader in probes.values() for line in reader.ledger() for call in line["calls"]
    }


def test_the_stream_is_the_same_with_probes_as_without(tmp_path: Path) -> None:
    config = config_of()
    perdure.run(config, out=tmp_path / "with")
    del config["probes"]
    perdure.run(config, out=tmp_path / "without")
    streams = [(tmp_path / name / "sessions.jsonl").read_bytes() for name in ("with", "without")]
    assert streams[0] == streams[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to kill and resume quickly")
def test_probes_survive_kills(tmp_path: Path) -> None:
    perdure.run(config_of(), out=tmp_path / "whole")
    expected = files(tmp_path / "whole")
    assert len(expected) > 8

    def doomed() -> None:
        die_at_write(30, 0.5)
        perdure.run(config_of(), out=tmp_path / "killed")

    kills = 0
    while in_child(doomed) == signal.SIGKILL:
        kills += 1
        assert kills < 200, "no progress between kills"
    perdure.run(config_of(), out=tmp_path / "killed")
    assert kills >= 4
    assert files(tmp_path / "killed") == expected


def test_a_stream_that_went_past_a_checkpoint_is_not_probed_later(tmp_path: Path) -> None:
    perdure.run(config_of(), out=tmp_path)
    with pytest.raises(RunFolderError, match="at session 6 without its probe at 2"):
        perdure.run(config_of(), sets=["execution.limit=4"], out=tmp_path)


def test_transfer_of_a_run_with_probes(tmp_path: Path) -> None:
    config = counter_config("step", tasks=8, probes={"checkpoints": 2})
    run = perdure.run({**config, "tasks": ["0", "1", "2", "3"]}, out=tmp_path)
    found = run_transfer(run)
    assert (found.forward, found.forgetting, found.held_out) == (0.0, 0.0, 0.0)
    with pytest.raises(RunFolderError, match="no finished probes"):
        run_transfer(perdure.run(counter_config("step"), out=tmp_path / "other"))


@pytest.mark.parametrize(
    ("checkpoints", "sessions", "expected"),
    [(1, 10, [0, 10]), (3, 10, [0, 3, 7, 10]), (4, 2, [0, 1, 2]), (2, 0, [0])],
)
def test_checkpoints_are_spread_evenly(checkpoints: int, sessions: int, expected: list[int]) -> None:
    assert probe_positions(ProbesSection(checkpoints=checkpoints), sessions) == expected
    assert probe_positions(None, sessions) == []


def test_a_past_that_holds_nothing() -> None:
    past = NoPastSessions()
    assert (len(past), list(past.records()), past[0:3], past[-2:]) == (0, [], [], [])
    with pytest.raises(IndexError):
        past[-1]
