from __future__ import annotations

from pathlib import Path

import pytest

from perdure.callbacks.abort_on_agent_errors import CALLBACK, AbortOnAgentErrors
from perdure.core.errors import ModelError
from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus, Trial
from perdure.environments.counter import CounterEnvironment
from perdure.models.scripted import Given
from perdure.storage.run_reader import RunReader
from tests.core.playing import DONE, play

S = SessionStatus
ERRORS = [S.AGENT_CONTEXT_LIMIT, S.AGENT_OUT_OF_MEMORY, S.AGENT_UNKNOWN_ERROR]
DOWN = ModelError("no reply", S.AGENT_CONTEXT_LIMIT)


def abandoned(record: SessionRecord) -> bool:
    return record.finish_reason.startswith("given up")


def pattern(past: RunReader) -> str:
    return "".join("-" if abandoned(r) else "!" if r.status in ERRORS else "." for r in past.records())


@pytest.mark.parametrize("status", ERRORS)
def test_every_abnormal_status_counts_and_later_tasks_are_not_played(
    tmp_path: Path, status: SessionStatus
) -> None:
    replies: list[Given] = [ModelError("x", status)] * 2
    past = play(tmp_path, [*replies, DONE], [AbortOnAgentErrors(tolerance=2)], tasks=5)
    assert pattern(past) == "!!---"
    for record in list(past.records())[2:]:
        assert record.status is S.AGENT_UNKNOWN_ERROR
        assert record.outcome is EvaluationOutcome.INCORRECT
        assert record.finish_reason == "given up: 2 sessions in a row ended in an agent error"
        assert (record.turns, record.interactions, record.reward) == (0, 0, 0.0)


def test_a_normal_session_starts_the_count_again(tmp_path: Path) -> None:
    replies: list[Given] = [DOWN, DONE, DOWN, DOWN, DONE, DOWN, DOWN, DOWN, DONE]
    past = play(tmp_path, replies, [AbortOnAgentErrors(tolerance=3)], tasks=10)
    assert pattern(past) == "!.!!.!!!--"


@pytest.mark.parametrize("snapshot_every", [1, 50])
def test_the_count_survives_a_resume(tmp_path: Path, snapshot_every: int) -> None:
    environment = CounterEnvironment(tasks=6)
    schedule = [Trial(task) for task in environment.task_ids()]
    for planned in (1, 2, 3, 5, 6):
        past = play(
            tmp_path,
            [DOWN, DOWN],
            [AbortOnAgentErrors(tolerance=3)],
            environment=environment,
            schedule=schedule[:planned],
            snapshot_every=snapshot_every,
        )
    assert pattern(past) == "!!!---"


def test_the_default_tolerance_is_eight_and_none_is_refused(tmp_path: Path) -> None:
    assert CALLBACK is AbortOnAgentErrors
    past = play(tmp_path, lambda request: DOWN, [AbortOnAgentErrors()], tasks=10)
    assert pattern(past) == "!!!!!!!!--"
    with pytest.raises(ValueError, match="at least 1, not 0"):
        AbortOnAgentErrors(tolerance=0)
