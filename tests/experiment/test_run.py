"""A run as Python objects, and the agents that replay one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError, RunFolderError
from perdure.core.session import PastSessions
from perdure.core.types import EvaluationOutcome, SessionStatus
from tests.core.bench import Bench


@pytest.fixture
def run(tmp_path: Path) -> perdure.Run:
    config = {"environment": {"name": "counter", "tasks": 4}, "agent": {"kind": "oracle"}}
    return perdure.run(config, out=tmp_path / "run")


def test_a_run_can_be_opened_again(run: perdure.Run) -> None:
    loaded = perdure.load(str(run.folder))
    assert repr(loaded) == f"Run({str(run.folder)!r}, 4 sessions)"
    assert loaded.hash == run.hash
    assert loaded.metrics == run.metrics
    assert loaded.config == run.config
    assert loaded.planned == 4
    assert isinstance(loaded.sessions, PastSessions)
    assert [record.task_id for record in loaded.records()] == ["0", "1", "2", "3"]
    assert loaded.sessions[0].history == run.sessions[0].history


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_what_is_no_run_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match=r"is not a run folder|cannot be read") as caught:
        perdure.load(tmp_path / name)
    assert name in str(caught.value)


def test_steps_are_flat_and_numbered_from_one(run: perdure.Run) -> None:
    steps = list(run.steps())
    assert set(steps[0]) == {"task_id", "repeat", "step", "action", "observation", "accepted", "reward"}
    assert len(steps) == sum(record.interactions for record in run.records())
    for task in "0123":
        numbers = [step["step"] for step in steps if step["task_id"] == task]
        assert numbers == list(range(1, len(numbers) + 1))
    assert [step["action"] for step in steps if step["action"] == "Action: done"] == ["Action: done"] * 4


def test_frames(run: perdure.Run) -> None:
    pytest.importorskip("pandas", reason="frames need pandas")
    sessions, steps = run.sessions_frame(), run.steps_frame()
    assert list(sessions["outcome"]) == ["correct"] * 4
    assert list(sessions["status"]) == ["completed"] * 4
    assert list(sessions["detail.distance"]) == [0] * 4
    assert "detail" not in sessions
    assert int(sessions["interactions"].sum()) == len(steps)
    assert list(steps.columns)[:3] == ["task_id", "repeat", "step"]


def test_the_summary_counts_everything(bench: Bench) -> None:
    bench.model("return 'end' if len(request.messages) > 2 else 'win'")
    summary = bench.run().summary()
    assert (summary.sessions, summary.correct, summary.reward, summary.rate) == (3, 3, 3.0, 1.0)
    assert summary.interactions == 6
    assert summary.statuses == {"completed": 3}
    assert summary.outcomes == {"correct": 3}
    assert (summary.restarts, summary.divergences, summary.limited) == (0, 0, 0)
    assert list(summary.tokens) == ["agent"]
    assert summary.tokens["agent"].calls == 6
    assert summary.tokens["agent"].prompt > 0
    assert summary.total_tokens == summary.tokens["agent"]
    assert summary.seconds > 0


def test_an_unfinished_run_has_no_metrics_yet(bench: Bench) -> None:
    bench.model("if len(request.messages) > 2: raise ModelUnavailable('down')\n    return 'win'")
    with pytest.raises(perdure.PerdureError, match="down"):
        bench.run()
    run = perdure.load(bench.out)
    assert run.metrics == {}
    assert (len(run.sessions), run.planned) == (0, 3)
    assert run.summary().sessions == 0
    assert run.summary().rate == 0.0
    assert list(run.steps()) == []


def test_damaged_metrics_are_one_clear_line(run: perdure.Run) -> None:
    (run.folder / "metrics.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"metrics\.json' cannot be read: "):
        assert perdure.load(run.folder).metrics


def essence(run: perdure.Run) -> list[tuple[Any, ...]]:
    return [(past.record, past.goal, past.history, past.interactions) for past in run.sessions]


def test_fixed_responses_replay_a_run_to_the_same_result(bench: Bench) -> None:
    bench.model(
        "shown = len(request.messages)\n"
        "    if shown == 6: return ModelError('too long', SessionStatus.AGENT_CONTEXT_LIMIT)\n"
        "    return 'bad' if shown == 2 else 'win'"
    )
    original = bench.run("execution.repeat=2")
    assert {record.status for record in original.records()} == {SessionStatus.AGENT_CONTEXT_LIMIT}
    asked = bench.asked
    first, bench.out = bench.out, bench.folder / "replayed"
    replayed = bench.run("execution.repeat=2", agent={"kind": "fixed_response", "run": str(first)})
    assert bench.asked == asked, "no model is needed"
    assert essence(replayed) == essence(original)


def test_a_run_without_a_model_is_replayed_by_its_actions(run: perdure.Run, tmp_path: Path) -> None:
    config = {
        "environment": {"name": "counter", "tasks": 4},
        "agent": {"kind": "fixed_response", "run": str(run.folder)},
    }
    assert essence(perdure.run(config, out=tmp_path / "replayed")) == essence(run)


def test_replies_that_are_missing(run: perdure.Run, tmp_path: Path) -> None:
    config = {
        "environment": {"name": "counter", "tasks": 5},
        "agent": {"kind": "fixed_response", "run": str(run.folder)},
    }
    with pytest.raises(ConfigError, match="holds no replies for task '4', repeat 0"):
        perdure.run(config, out=tmp_path / "more")
    other_tasks = {**config, "environment": {"name": "counter", "tasks": 4, "seed": 5}}
    records = list(perdure.run(other_tasks, out=tmp_path / "other").records())
    assert not any(record.correct for record in records), "replies to other tasks solve nothing"


def test_replies_that_are_used_up_end_the_task(bench: Bench) -> None:
    first = bench.run("limits.max_interactions=1")
    bench.out = bench.folder / "longer"
    run = bench.run(agent={"kind": "fixed_response", "run": str(first.folder)})
    for record in run.records():
        assert record.status is SessionStatus.AGENT_UNKNOWN_ERROR
        assert record.finish_reason == "the recorded replies of this task are used up"
        assert record.outcome is EvaluationOutcome.CORRECT, "what they reached is graded"


def test_doing_nothing(bench: Bench) -> None:
    run = bench.run(agent={"kind": "do_nothing"})
    assert [(r.interactions, r.correct) for r in run.records()] == [(1, False)] * 3
    assert bench.asked == 0


def test_folders_and_task_ids_are_never_read_as_something_else(tmp_path: Path) -> None:
    for name in ("🦊", "a = 1", '"quoted"', "new\nline"):
        config = {"environment": {"name": "counter", "tasks": 1}, "agent": {"kind": "oracle"}}
        run = perdure.run(config, out=tmp_path / name)
        assert run.folder == tmp_path / name
        assert len(perdure.load(tmp_path / name).sessions) == 1
