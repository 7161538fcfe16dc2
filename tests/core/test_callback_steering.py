"""What a callback may do to a session, and what a failing one does to a run."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path

import pytest

from perdure.core.callback import (
    Callback,
    CallbackContext,
    CallbackList,
    SessionController,
    Step,
    snake_case,
)
from perdure.core.controller import Limits
from perdure.core.errors import ConfigError, IllegalTransition
from perdure.core.types import JSON, EvaluationOutcome, Message, SessionStatus
from tests.core.playing import DONE, play, step_to_goal
from tests.core.spy import HANDLERS, Spy, counted, events


def test_skipping_the_reset_gives_the_task_up(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []

    def give_up(event: str, ctx: CallbackContext) -> None:
        if event == "on_session_create" and ctx.session.index == 0:
            ctx.controller.skip(Step.RESET)
            ctx.session.finish(SessionStatus.TASK_UNKNOWN_ERROR, "not today")

    past = play(tmp_path, [DONE], [Spy(log, act=give_up)], tasks=2)
    assert events(log)[:3] == ["on_session_create", "on_state_save", "on_session_create"]
    first, second = past.records()
    assert (first.status, first.outcome) == (SessionStatus.TASK_UNKNOWN_ERROR, EvaluationOutcome.UNKNOWN)
    assert first.finish_reason == "not today"
    assert second.status is SessionStatus.COMPLETED, "the flag was spent"


def test_skipping_the_reset_without_ending_the_session_is_refused(tmp_path: Path) -> None:
    spy = Spy([], act=lambda event, ctx: ctx.controller.skip(Step.RESET))
    with pytest.raises(IllegalTransition, match="must also finish"):
        play(tmp_path, [DONE], [spy], tasks=1)


def test_skipping_one_inference_uses_the_reply_that_is_there(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []

    def answer(event: str, ctx: CallbackContext) -> None:
        if event == "on_environment_reset":
            ctx.session.receive("Action: read")
            ctx.controller.skip(Step.INFERENCE)

    past = play(tmp_path, [DONE], [Spy(log, act=answer)], tasks=1)
    assert [i.action for i in past[0].interactions] == ["Action: read", DONE]
    assert counted(log)["on_agent_inference"] == 1, "no event for an inference that did not happen"
    assert past[0].record.turns == 2


def test_a_skipped_inference_without_a_reply_costs_only_a_turn(tmp_path: Path) -> None:
    def skip(event: str, ctx: CallbackContext) -> None:
        if event == "on_environment_reset":
            ctx.controller.skip(Step.INFERENCE)

    past = play(tmp_path, [DONE], [Spy([], act=skip)], tasks=1)
    record = past[0].record
    assert (record.turns, record.interactions) == (2, 1)


def test_skipping_one_interact_sets_the_reply_aside(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []

    def skip(event: str, ctx: CallbackContext) -> None:
        if event == "on_agent_inference" and ctx.session.turns == 1:
            ctx.controller.skip(Step.INTERACT)

    past = play(tmp_path, ["Action: add 1", DONE], [Spy(log, act=skip)], tasks=1)
    assert [i.action for i in past[0].interactions] == [DONE]
    assert counted(log)["on_agent_inference"] == 2
    assert counted(log)["on_environment_interact"] == 1
    second_prompt = list(past.calls(0))[1].messages
    assert second_prompt[-2:] == (
        Message("agent", "Action: add 1"),
        Message("user", "The reply was set aside."),
    )


def test_skipping_complete_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []

    def skip(event: str, ctx: CallbackContext) -> None:
        if event == "on_environment_interact" and ctx.session.index == 0:
            ctx.controller.skip(Step.COMPLETE)

    past = play(tmp_path, step_to_goal, [Spy(log, act=skip)], tasks=2)
    assert [record.outcome for record in past.records()] == [
        EvaluationOutcome.UNKNOWN,
        EvaluationOutcome.CORRECT,
    ]
    assert counted(log)["on_environment_complete"] == 1


@pytest.mark.parametrize("step", list(Step))
def test_a_flag_is_spent_by_one_use_and_lowered_by_clear(step: Step) -> None:
    flags = SessionController()
    assert not flags.take(step)
    flags.skip(step)
    assert not any(flags.take(other) for other in Step if other is not step)
    assert flags.take(step)
    assert not flags.take(step)
    flags.skip(step)
    flags.clear()
    assert not flags.take(step)


def test_flags_do_not_reach_the_next_session(tmp_path: Path) -> None:
    def late(event: str, ctx: CallbackContext) -> None:
        if event == "on_state_save":
            for step in Step:
                ctx.controller.skip(step)

    log: list[tuple[str, str]] = []
    past = play(tmp_path, step_to_goal, [Spy(log, act=late)], tasks=2)
    assert all(record.correct for record in past.records())
    assert counted(log)["on_environment_reset"] == 2


def test_a_reply_may_be_replaced(tmp_path: Path) -> None:
    def replace(event: str, ctx: CallbackContext) -> None:
        if event == "on_agent_inference":
            ctx.session.receive(DONE)

    past = play(tmp_path, ["Action: read"], [Spy([], act=replace)], tasks=1)
    assert [i.action for i in past[0].interactions] == [DONE]
    assert past[0].history[-1] == Message("agent", DONE)
    (call,) = past.calls(0)
    assert getattr(call.outcome, "text", None) == "Action: read", "what the model said stays on record"


@pytest.mark.parametrize(
    ("at", "turns", "interactions"),
    [("on_environment_reset", 0, 0), ("on_agent_inference", 1, 0), ("on_environment_interact", 1, 1)],
)
def test_a_callback_may_end_a_session_and_it_is_graded(
    tmp_path: Path, at: str, turns: int, interactions: int
) -> None:
    def end(event: str, ctx: CallbackContext) -> None:
        if event == at:
            ctx.session.finish(SessionStatus.AGENT_VALIDATION_FAILED, "enough")

    log: list[tuple[str, str]] = []
    past = play(tmp_path, ["Action: read"] * 9, [Spy(log, act=end)], tasks=1)
    record = past[0].record
    assert (record.status, record.finish_reason) == (SessionStatus.AGENT_VALIDATION_FAILED, "enough")
    assert (record.turns, record.interactions) == (turns, interactions)
    assert record.outcome is EvaluationOutcome.INCORRECT
    assert counted(log)["on_environment_complete"] == 1


class Boom(Exception):
    pass


@pytest.mark.parametrize("event", [*HANDLERS, "on_state_save"])
def test_a_failing_callback_stops_the_run_and_is_named(tmp_path: Path, event: str) -> None:
    def fail(current: str, ctx: CallbackContext) -> None:
        if current == event and ctx.session.index == 1:
            raise Boom(current)

    innocent = Spy([], "innocent")
    with pytest.raises(Boom) as caught:
        play(tmp_path, step_to_goal, [innocent, Spy([], "guilty", act=fail)], tasks=3)
    assert caught.value.__notes__[0] == f"raised by the callback 'guilty' in {event}"
    assert "--restart-task" in caught.value.__notes__[1]
    assert f"raised by the callback 'guilty' in {event}" in "".join(traceback.format_exception(caught.value))
    resumed = play(tmp_path, step_to_goal, [Spy([], "innocent"), Spy([], "guilty")], tasks=3)
    assert [record.correct for record in resumed.records()] == [True] * 3


def test_a_failure_to_restore_or_to_snapshot_is_named(tmp_path: Path) -> None:
    class Forgetful(Callback):
        def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
            raise Boom

        def snapshot_state(self) -> JSON:
            raise Boom

    with pytest.raises(Boom) as caught:
        play(tmp_path, [DONE], [Forgetful()], tasks=1, snapshot_every=1)
    assert caught.value.__notes__ == ["raised by the callback 'forgetful' in snapshot_state"]
    with pytest.raises(Boom) as caught:
        play(tmp_path, [DONE], [Forgetful()], tasks=1)
    assert caught.value.__notes__ == ["raised by the callback 'forgetful' in restore_state"]


def test_every_callback_is_closed_although_one_fails() -> None:
    closed: list[str] = []

    class Closing(Callback):
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)
            if self.name == "b":
                raise Boom

    callbacks = CallbackList([Closing("a"), Closing("b"), Closing("c")])
    with pytest.raises(Boom):
        callbacks.close()
    assert closed == ["a", "b", "c"]


def test_two_callbacks_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two callbacks are named 'same'"):
        CallbackList([Spy([], "same"), Spy([], "same")])


def test_a_callback_is_named_after_its_class() -> None:
    class ExperienceKeeper(Callback):
        pass

    assert [name for name, _ in CallbackList([ExperienceKeeper()]).items()] == ["experience_keeper"]
    assert snake_case("A") == "a"


def test_the_history_factory_may_be_edited(tmp_path: Path) -> None:
    items = [Message("user", "An example."), Message("agent", "OK.")]

    def edit(event: str, ctx: CallbackContext) -> None:
        factory = ctx.environment.history_factory
        if event == "on_session_create" and not factory.items():
            factory.extend(items)
        elif event == "on_environment_complete":
            factory.set(0, Message("user", f"After task {ctx.session.task_id}."))

    past = play(tmp_path, step_to_goal, [Spy([], act=edit)], tasks=2)
    assert past[0].history[:2] == tuple(items)
    assert past[1].history[:2] == (Message("user", "After task 0."), items[1])
    assert [call.messages[1].text for call in past.calls(1)][:1] == ["After task 0."]


def test_experience_is_part_of_the_instructions_of_that_task(tmp_path: Path) -> None:
    def teach(event: str, ctx: CallbackContext) -> None:
        if event == "on_session_create":
            ctx.session.experience.append(f"Lesson for {ctx.session.task_id}.")

    past = play(tmp_path, step_to_goal, [Spy([], act=teach)], tasks=2)
    for index in (0, 1):
        systems = {call.messages[0].text for call in past.calls(index)}
        assert len(systems) == 1, "constant within a task"
        assert systems.pop().endswith(f"\n\nLesson for {index}.")
        assert past[index].experience == (f"Lesson for {index}.",)


def test_endless_skipping_ends_at_the_turn_limit(tmp_path: Path) -> None:
    def skip(event: str, ctx: CallbackContext) -> None:
        if event == "on_agent_inference":
            ctx.controller.skip(Step.INTERACT)

    limits = Limits(max_interactions=2, max_turns=7)
    past = play(tmp_path, ["Action: read"] * 9, [Spy([], act=skip)], tasks=1, limits=limits)
    record = past[0].record
    assert (record.status, record.finish_reason) == (SessionStatus.TASK_LIMIT_REACHED, "7 turns used")
    assert (record.turns, record.interactions) == (7, 0)
