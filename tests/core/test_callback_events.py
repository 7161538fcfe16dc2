"""The seven events over real runs: how often, in which order, and with what."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from perdure.core.agent import Agent, ContextView, ModelAgent
from perdure.core.callback import (
    CallbackContext,
    SessionController,
)
from perdure.core.environment import Opening
from perdure.core.session import PastSessions, Session
from perdure.core.types import EvaluationOutcome, Message, Observation, SessionStatus, Trial
from perdure.environments.counter import CounterEnvironment
from tests.core.playing import DONE, play
from tests.core.spy import HANDLERS, Spy, counted, events


def test_every_event_of_a_run_is_counted(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []
    past = play(tmp_path, callbacks=[Spy(log)], tasks=5)
    turns = sum(record.turns for record in past.records())
    assert turns > 10
    assert counted(log) == {
        "on_session_create": 5,
        "on_environment_reset": 5,
        "on_agent_inference": turns,
        "on_environment_interact": turns,
        "on_environment_complete": 5,
        "on_state_save": 5,
    }


def test_the_state_is_restored_once_and_only_when_resuming(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []
    environment = CounterEnvironment(tasks=5)
    schedule = [Trial(task) for task in environment.task_ids()]
    play(tmp_path, callbacks=[Spy(log)], environment=environment, schedule=schedule[:3])
    assert "restore_state" not in events(log)
    log.clear()
    spy = Spy(log)
    play(tmp_path, callbacks=[spy], environment=environment, schedule=schedule)
    assert events(log)[0] == "restore_state"
    assert counted(log)["restore_state"] == 1
    assert counted(log)["on_session_create"] == 2
    assert spy.saved == 5
    log.clear()
    play(tmp_path, callbacks=[Spy(log)], environment=environment, schedule=schedule)
    assert events(log) == ["restore_state"], "nothing is left to play"


def test_the_events_of_one_task_in_order(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []
    play(tmp_path, ["Action: read", DONE], [Spy(log)], tasks=1)
    turn = ["on_agent_inference", "on_environment_interact"]
    assert events(log) == [
        "on_session_create",
        "on_environment_reset",
        *turn,
        *turn,
        "on_environment_complete",
        "on_state_save",
    ]


class Listening(Agent):
    """Says in which order it and the callbacks hear of an answer; the second ends the task."""

    def __init__(self, log: list[tuple[str, str]]) -> None:
        self._log = log

    def start(self, trial: Trial, opening: Opening) -> None:
        self._left = ["Action: read", DONE]

    def infer(self, view: ContextView) -> str:
        return self._left.pop(0)

    def observe(self, observation: Observation) -> None:
        self._log.append(("agent", "observe"))


def test_callbacks_hear_an_answer_before_the_agent_does(tmp_path: Path) -> None:
    """What a callback writes into the session is there when a strategy commits or summarises."""
    log: list[tuple[str, str]] = []
    play(tmp_path, callbacks=[Spy(log)], tasks=1, agent=lambda model: Listening(log))
    heard = [event for event in events(log) if event in ("on_environment_interact", "observe")]
    assert heard == ["on_environment_interact", "observe"] * 2


def test_callbacks_run_in_the_order_given(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []
    play(tmp_path, [DONE], [Spy(log, "b"), Spy(log, "a"), Spy(log, "c")], tasks=1)
    assert len(log) == 18
    for i in range(0, len(log), 3):
        assert [name for name, _ in log[i : i + 3]] == ["b", "a", "c"]
        assert len({event for _, event in log[i : i + 3]}) == 1


def test_every_handler_gets_one_context(tmp_path: Path) -> None:
    seen: list[CallbackContext] = []
    play(tmp_path, callbacks=[Spy([], act=lambda event, ctx: seen.append(ctx))], tasks=2)
    assert [field.name for field in fields(CallbackContext)] == [
        "agent",
        "environment",
        "session",
        "past_sessions",
        "controller",
        "reply_form",
    ]
    for ctx in seen:
        assert isinstance(ctx.agent, ModelAgent)
        assert isinstance(ctx.environment, CounterEnvironment)
        assert isinstance(ctx.session, Session)
        assert isinstance(ctx.past_sessions, PastSessions)
        assert isinstance(ctx.controller, SessionController)


def test_what_a_session_holds_at_each_event(tmp_path: Path) -> None:
    def look(event: str, ctx: CallbackContext) -> None:
        session = ctx.session
        assert len(ctx.past_sessions) == session.index
        if event == "on_session_create":
            assert (session.status, session.goal, session.history) == (SessionStatus.INITIAL, "", ())
        elif event == "on_environment_reset":
            assert session.status is SessionStatus.RUNNING
            assert session.goal
            assert len(session.history) == 1
        elif event == "on_agent_inference":
            assert session.reply is not None
            assert session.history[-1].role == "user"
        elif event == "on_environment_interact":
            assert session.reply is None
            assert session.interactions
        else:
            assert session.evaluation.outcome is EvaluationOutcome.CORRECT

    log: list[tuple[str, str]] = []
    play(tmp_path, callbacks=[Spy(log, act=look)], tasks=3)
    assert set(HANDLERS) < set(events(log))


def test_past_sessions_are_those_that_were_committed(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(event: str, ctx: CallbackContext) -> None:
        if event == "on_session_create" and ctx.past_sessions:
            last = ctx.past_sessions[-1]
            seen.append(last.record.task_id)
            assert last.history[-1] == Message("agent", DONE)
            assert [past.record.task_id for past in ctx.past_sessions] == [
                record.task_id for record in ctx.past_sessions.records()
            ]

    play(tmp_path, callbacks=[Spy([], act=look)], tasks=3)
    assert seen == ["0", "1"]
