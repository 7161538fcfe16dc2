from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import IllegalTransition
from perdure.core.session import Session, check_alternation
from perdure.core.types import EPOCH, Evaluation, EvaluationOutcome, Message, Observation, SessionStatus

S = SessionStatus
TERMINAL = [status for status in S if status.is_terminal]
ABNORMAL = {S.AGENT_CONTEXT_LIMIT, S.AGENT_OUT_OF_MEMORY, S.AGENT_UNKNOWN_ERROR}
LEGAL = {
    *((S.INITIAL, end) for end in {S.TASK_ENVIRONMENT_ERROR, S.TASK_UNKNOWN_ERROR, *ABNORMAL}),
    (S.INITIAL, S.RUNNING),
    *((S.RUNNING, end) for end in TERMINAL),
}
OPENING = (Message("user", "Do it."),)


def session_in(status: SessionStatus) -> Session:
    session = Session("t")
    if status is not S.INITIAL:
        session.start("goal", OPENING)
    if status.is_terminal:
        session.finish(status, "because")
    assert session.status is status
    return session


def move(session: Session, target: SessionStatus) -> None:
    if target is S.RUNNING:
        session.start("goal", OPENING)
    else:
        session.finish(target, "reason")


def test_ten_statuses_of_which_eight_end_a_session() -> None:
    assert len(S) == 10
    assert len(TERMINAL) == 8
    assert {status for status in S if status.is_abnormal_inference} == ABNORMAL


@pytest.mark.parametrize(("start", "target"), list(product(S, S)))
def test_every_pair_of_statuses(start: SessionStatus, target: SessionStatus) -> None:
    session = session_in(start)
    if (start, target) in LEGAL:
        move(session, target)
        assert session.status is target
        assert session.finish_reason == ("" if target is S.RUNNING else "reason")
        return
    with pytest.raises(IllegalTransition):
        move(session, target)
    assert session.status is start, "a refused move changes nothing"


@pytest.mark.parametrize("status", list(S))
@pytest.mark.parametrize("outcome", list(EvaluationOutcome))
def test_every_outcome_in_every_status(status: SessionStatus, outcome: EvaluationOutcome) -> None:
    session = session_in(status)
    verdict = Evaluation(outcome, 0.25, {"distance": 3})
    if status.is_terminal and outcome is not EvaluationOutcome.UNSET:
        session.evaluate(verdict)
        assert session.evaluation == verdict
        return
    with pytest.raises(IllegalTransition):
        session.evaluate(verdict)
    assert session.evaluation.outcome is EvaluationOutcome.UNSET


def test_a_verdict_is_final() -> None:
    session = session_in(S.COMPLETED)
    session.evaluate(Evaluation(EvaluationOutcome.CORRECT, 1.0))
    with pytest.raises(IllegalTransition, match="has its outcome: correct"):
        session.evaluate(Evaluation(EvaluationOutcome.INCORRECT, 0.0))
    session.conclude()
    assert session.evaluation.outcome is EvaluationOutcome.CORRECT


@pytest.mark.parametrize("status", TERMINAL)
def test_an_ungraded_session_is_concluded_as_unknown(status: SessionStatus) -> None:
    session = session_in(status)
    session.conclude()
    assert session.evaluation == Evaluation(EvaluationOutcome.UNKNOWN, 0.0)


@pytest.mark.parametrize("status", [S.INITIAL, S.RUNNING])
def test_an_unfinished_session_cannot_be_concluded(status: SessionStatus) -> None:
    with pytest.raises(IllegalTransition, match="must also finish"):
        session_in(status).conclude()


@pytest.mark.parametrize("status", [status for status in S if status is not S.RUNNING])
def test_only_a_running_session_observes(status: SessionStatus) -> None:
    session = session_in(status)
    before = session.history
    with pytest.raises(IllegalTransition, match="cannot observe"):
        session.observe("act", Observation("seen"))
    assert session.history == before
    assert session.interactions == ()


@pytest.mark.parametrize("status", TERMINAL)
def test_a_terminal_observation_ends_the_session(status: SessionStatus) -> None:
    session = session_in(S.RUNNING)
    session.observe("act", Observation("", status=status, reason="why"))
    assert (session.status, session.finish_reason) == (status, "why")
    assert session.history == (*OPENING, Message("agent", "act")), "nothing to say: no empty message"


def test_done_completes_and_its_text_is_kept() -> None:
    session = session_in(S.RUNNING)
    session.observe("act", Observation("bye", done=True, reason="ended"))
    assert (session.status, session.finish_reason) == (S.COMPLETED, "ended")
    assert session.history[-1] == Message("user", "bye")


def test_an_empty_observation_that_does_not_end_keeps_the_alternation() -> None:
    session = session_in(S.RUNNING)
    session.observe("act", Observation(""))
    assert session.history == (*OPENING, Message("agent", "act"), Message("user", ""))


def test_the_history_holds_the_raw_reply_and_the_interaction_holds_the_action() -> None:
    session = session_in(S.RUNNING)
    session.receive("I think. Action: x")
    session.observe("x", Observation("seen"))
    assert session.history[1] == Message("agent", "I think. Action: x")
    assert session.interactions[0].action == "x"
    assert session.reply is None


def test_rejected_replies_last_until_the_next_observation() -> None:
    session = session_in(S.RUNNING)
    for reply in ("bad", "worse"):
        session.receive(reply)
        session.reject(f"{reply} is no action")
        assert session.reply is None
    assert [(r.reply, r.error) for r in session.rejected] == [
        ("bad", "bad is no action"),
        ("worse", "worse is no action"),
    ]
    assert session.history == OPENING, "a rejected reply is no part of the history"
    session.receive("good")
    session.observe("good", Observation("seen"))
    assert session.rejected == ()


def test_a_history_may_be_rewritten_only_into_one_that_alternates() -> None:
    session = session_in(S.RUNNING)
    new = [Message("user", "a"), Message("agent", "b"), Message("user", "c")]
    session.rewrite_history(iter(new))
    assert session.history == tuple(new)
    with pytest.raises(ValueError, match="message 0"):
        session.rewrite_history(new[1:])
    assert session.history == tuple(new)


def test_a_session_cannot_start_with_a_history_that_does_not_alternate() -> None:
    session = Session("t")
    with pytest.raises(ValueError, match="message 1"):
        session.start("g", [Message("user", "a"), Message("user", "b")])
    assert session.status is S.INITIAL


def test_the_record_is_frozen_and_complete() -> None:
    session = Session("t", index=4, repeat=2)
    session.start("goal", OPENING)
    session.take_turn()
    session.take_turn()
    session.observe("act", Observation("", done=True, reason="ended"))
    session.evaluate(Evaluation(EvaluationOutcome.CORRECT, 1.0, {"distance": 0}))
    record = session.record()
    assert vars(record) == {
        "task_id": "t",
        "repeat": 2,
        "status": S.COMPLETED,
        "outcome": EvaluationOutcome.CORRECT,
        "reward": 1.0,
        "detail": {"distance": 0},
        "finish_reason": "ended",
        "interactions": 1,
        "turns": 2,
        "malformed": 0,
        "fallbacks": 0,
        "cut": 0,
        "tolerated": 0,
        "state_updates": None,
        "clock": EPOCH,
    }
    assert record.correct
    with pytest.raises(AttributeError):
        record.reward = 0.0  # type: ignore[misc]


@given(st.lists(st.sampled_from(["user", "agent", "system"]), max_size=6))
def test_only_user_agent_user_alternates(roles: list[str]) -> None:
    messages = [Message(role, "x") for role in roles]  # type: ignore[arg-type]
    expected = all(role == ("user", "agent")[i % 2] for i, role in enumerate(roles))
    if expected:
        check_alternation(messages)
    else:
        with pytest.raises(ValueError, match="of an interaction history must be"):
            check_alternation(messages)


@given(st.lists(st.tuples(st.text(), st.text(), st.booleans()), max_size=8))
def test_whatever_is_observed_the_history_alternates(steps: list[tuple[str, str, bool]]) -> None:
    session = session_in(S.RUNNING)
    for reply, observation, reject in steps:
        session.receive(reply)
        if reject:
            session.reject("no")
        else:
            session.observe(reply, Observation(observation))
    check_alternation(session.history)
    assert len(session.interactions) == sum(not reject for *_, reject in steps)
