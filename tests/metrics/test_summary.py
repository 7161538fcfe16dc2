from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.core.charges import Charge, Times
from perdure.core.session import SessionRecord
from perdure.core.types import JSON, EvaluationOutcome, SessionStatus
from perdure.core.usage import Usage
from perdure.metrics.success import wilson_interval
from perdure.metrics.summary import summarise
from perdure.metrics.tokens import TokenTotals
from perdure.storage.ledger import ledger_line

Outcome, S = EvaluationOutcome, SessionStatus

RECORDS = [
    SessionRecord("a", 0, S.COMPLETED, Outcome.CORRECT, 1.0, interactions=2),
    SessionRecord("b", 0, S.TASK_LIMIT_REACHED, Outcome.CORRECT, 1.0, interactions=8),
    SessionRecord("c", 0, S.TASK_LIMIT_REACHED, Outcome.INCORRECT, 0.0, interactions=8),
    SessionRecord("d", 0, S.AGENT_CONTEXT_LIMIT, Outcome.INCORRECT, 0.25, interactions=1),
]


def line(charge: Charge, **times: float) -> dict[str, JSON]:
    return ledger_line(0, "t", 0, Times(started=0.0, **{"seconds": 0.0, **times}), [charge])  # type: ignore[arg-type]


LEDGER = [
    line(Charge(0, "agent", 0, "m", "asked", Usage(9, 3), 0.5, 0.0), seconds=1.5, resumes=2, restarts=1),
    line(Charge(0, "critic", 0, "m", "asked", Usage(1, 1), 0.5, 0.0), seconds=0.5, restarts=2, divergences=1),
]


def test_ignored_sessions_are_counted_by_reason_and_in_no_rate() -> None:
    ignored = [
        SessionRecord(str(i), 0, S.TASK_ENVIRONMENT_ERROR, Outcome.IGNORED, 0.0, finish_reason=reason)
        for i, reason in enumerate(["no vi", "no awk", "no vi"])
    ]
    summary = summarise([*ignored, *RECORDS], LEDGER)
    assert summary.ignored == {"no vi": 2, "no awk": 1}
    assert (summary.sessions, summary.counted, summary.rate) == (7, 4, 0.5)
    assert summary.interval == wilson_interval(2, 4)
    assert (summary.limited, summary.correct_unlimited) == (2, 1)
    assert summary.outcomes["ignored"] == 3


def test_a_run_in_a_few_numbers() -> None:
    summary = summarise(iter(RECORDS), iter(LEDGER))
    assert (summary.sessions, summary.correct, summary.rate) == (4, 2, 0.5)
    assert summary.interval == wilson_interval(2, 4)
    assert summary.reward == 2.25
    assert (summary.limited, summary.correct_unlimited) == (2, 1)
    assert summary.interactions == 19
    assert summary.statuses == {"completed": 1, "task_limit_reached": 2, "agent_context_limit": 1}
    assert summary.outcomes == {"correct": 2, "incorrect": 2}
    assert (summary.seconds, summary.resumes, summary.restarts, summary.divergences) == (2.0, 2, 3, 1)
    assert (summary.unaccounted, summary.unfinished) == (2, 0)
    assert summary.tokens == {
        "agent": TokenTotals(1, 9, 3, 0, 0, 0.5),
        "critic": TokenTotals(1, 1, 1, 0, 0, 0.5),
    }
    assert summary.total_tokens == TokenTotals(2, 10, 4, 0, 0, 1.0)


def test_tasks_that_are_not_finished_are_paid_too() -> None:
    under_way = line(Charge(0, "agent", 0, "m", "unanswered", Usage(), 0.0, 0.0), seconds=4.0, damaged=1)
    summary = summarise(iter(RECORDS), iter(LEDGER), [under_way])
    assert (summary.unaccounted, summary.unfinished, summary.damaged) == (2, 1, 1)
    assert summary.seconds == 6.0
    assert summary.tokens["agent"] == TokenTotals(2, 9, 3, 0, 0, 0.5, unanswered=1)


def test_nothing_yet() -> None:
    summary = summarise([], [])
    assert (summary.sessions, summary.rate, summary.interval) == (0, 0.0, (0.0, 1.0))
    assert summary.total_tokens == TokenTotals()


records = st.lists(
    st.builds(
        SessionRecord,
        st.text(),
        st.integers(0, 3),
        st.sampled_from([status for status in S if status.is_terminal]),
        st.sampled_from([outcome for outcome in Outcome if outcome is not Outcome.UNSET]),
        st.floats(0, 1),
    )
)


@given(records)
def test_counts_are_consistent(sessions: list[SessionRecord]) -> None:
    summary = summarise(sessions, [])
    assert (
        sum(summary.statuses.values()) == sum(summary.outcomes.values()) == summary.sessions == len(sessions)
    )
    assert summary.correct == summary.outcomes.get("correct", 0)
    assert summary.counted == len(sessions) - summary.outcomes.get("ignored", 0)
    assert summary.limited == sum(
        session.status is S.TASK_LIMIT_REACHED for session in sessions if not session.ignored
    )
    assert summary.correct - summary.limited <= summary.correct_unlimited <= summary.correct
    assert summary.interval[0] <= summary.rate + 1e-9
