"""Replies that cannot be used: asked again, then a fallback; alike for every strategy, and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.callbacks.regenerate_on_invalid_action import RegenerateOnInvalidAction
from perdure.core.agent import UNREADABLE, Agent, ContextStrategy, ModelAgent
from perdure.core.callback import Callback, CallbackContext
from perdure.core.controller import Limits
from perdure.core.parts import Reasoning, Text
from perdure.core.pool import ModelHandle
from perdure.core.types import NO_TEXT, Completion, Request, Trial
from perdure.environments.counter import CounterEnvironment
from perdure.models.scripted import Given
from perdure.strategies.full_history import FullHistory
from perdure.strategies.sliding_window import SlidingWindow
from perdure.strategies.stateful import Stateful
from perdure.strategies.structured_state import StructuredState
from tests.core.playing import DONE, play

Build = Callable[[], ContextStrategy]
TEXT_STRATEGIES: list[Build] = [FullHistory, Stateful, lambda: SlidingWindow(turns=2)]
ROOMY = Limits(max_interactions=8, max_turns=32)


def agent_of(strategy: Build, retries: int = 2, no_op: str | None = None) -> Callable[[ModelHandle], Agent]:
    environment = CounterEnvironment(tasks=1)
    environment.reset(Trial("0"))
    return lambda model: ModelAgent(
        model, strategy(), retries=retries, read_action=environment.read_action, no_op=no_op
    )


@pytest.mark.parametrize("strategy", TEXT_STRATEGIES)
def test_an_unreadable_reply_is_asked_again_with_the_error(tmp_path: Path, strategy: Build) -> None:
    seen: list[Request] = []
    replies = iter(["hm", "hm?", DONE])

    def reply(request: Request) -> str:
        seen.append(request)
        return next(replies)

    past = play(tmp_path, reply, tasks=1, agent=agent_of(strategy))
    record = past[0].record
    assert (record.turns, record.interactions, record.malformed, record.fallbacks) == (3, 1, 2, 0)
    assert [m.text for m in seen[2].messages[-4:]] == ["hm", UNREADABLE, "hm?", UNREADABLE]
    assert [m.text for m in past[0].history[1:]] == [DONE], "what was rejected leaves the history"


@pytest.mark.parametrize("strategy", TEXT_STRATEGIES)
@pytest.mark.parametrize(("no_op", "taken"), [(None, "hm!"), ("Action: read", "Action: read")])
def test_after_the_last_retry_comes_the_fallback(
    tmp_path: Path, strategy: Build, no_op: str | None, taken: str
) -> None:
    past = play(tmp_path, ["hm", "hm?", "hm!", DONE], tasks=1, agent=agent_of(strategy, no_op=no_op))
    record = past[0].record
    assert [step.action for step in past[0].interactions] == [taken, DONE]
    assert (record.turns, record.malformed, record.fallbacks) == (4, 3, 1)
    assert past[0].history[1].text == "hm!", "the history shows what the model said"


def test_what_came_with_an_unusable_action_is_not_committed_by_the_fallback(tmp_path: Path) -> None:
    unreadable = '{"state_patch": {"notes": {"a": "b"}}, "action": "jump"}'
    used = '{"state_patch": {"notes": {"c": "d"}}, "action": "Action: done"}'
    agent = agent_of(StructuredState, retries=0, no_op="Action: read")
    past = play(tmp_path, [unreadable, used], tasks=1, agent=agent)
    assert [step.action for step in past[0].interactions] == ["Action: read", DONE]
    first, second = past[0].trace["patches"]
    assert (first["committed"], second["committed"]) == (False, True)
    assert past[0].record.fallbacks == 1


def test_a_callback_that_asks_again_shares_the_count(tmp_path: Path) -> None:
    for attempts, asked in ((1, 3), (2, 3), (5, 6)):
        folder = tmp_path / str(attempts)
        callback = RegenerateOnInvalidAction(attempts=attempts)
        past = play(
            folder, ["hm"] * (asked - 1) + [DONE] * 2, [callback], tasks=1, agent=agent_of(FullHistory)
        )
        turns = [step.action for step in past[0].interactions]
        assert past[0].record.turns == asked, (attempts, turns)


def test_the_first_answer_counts_where_nothing_is_asked_again(tmp_path: Path) -> None:
    past = play(tmp_path, ["hm", DONE], tasks=1, agent=agent_of(FullHistory, retries=0))
    assert [step.action for step in past[0].interactions] == ["hm", DONE]
    assert past[0].record.fallbacks == 1


EMPTY: list[Given] = ["", " \n", Completion(""), Completion([Reasoning("hm")]), "<think>hm", "</think>"]


@pytest.mark.parametrize("strategy", TEXT_STRATEGIES)
@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("retries", [0, 2])
def test_no_empty_turn_is_ever_sent(tmp_path: Path, strategy: Build, empty: Given, retries: int) -> None:
    seen: list[Request] = []
    replies = iter([empty, DONE])

    def reply(request: Request) -> Given:
        seen.append(request)
        return next(replies)

    past = play(tmp_path, reply, tasks=1, agent=agent_of(strategy, retries))
    assert all(message.text.strip() for request in seen for message in request.messages)
    assert NO_TEXT in seen[1].messages[-2].text
    assert past[0].record.malformed == 1


def test_thoughts_are_recorded_and_neither_carried_out_nor_sent_again(tmp_path: Path) -> None:
    seen: list[Request] = []
    replies: list[Given] = [
        "<think>Action: add 9</think>\n\nAction: add 1",
        Completion([Reasoning("Action: add 8"), Text("Action: add 2")], "stop"),
        "<|channel|>analysis<|message|>Action: add 7<|end|><|start|>assistant<|channel|>final<|message|>"
        + DONE,
    ]
    given = iter(replies)

    def reply(request: Request) -> Given:
        seen.append(request)
        return next(given)

    past = play(tmp_path, reply, tasks=1, limits=ROOMY)
    assert [step.action for step in past[0].interactions] == ["Action: add 1", "Action: add 2", DONE]
    shown = "\n".join(message.text for request in seen for message in request.messages)
    assert not any(f"add {n}" in shown.replace("add 1", "") for n in (7, 8, 9))
    outcomes = [call.outcome for call in past.calls(0)]
    thoughts = [outcome.reasoning for outcome in outcomes if isinstance(outcome, Completion)]
    assert thoughts == [("Action: add 9",), ("Action: add 8",), ("Action: add 7",)]


class Warn(Callback):
    """Says how many rounds are left."""

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        ctx.session.note("8 rounds left.")

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        ctx.session.note(f"{8 - len(ctx.session.interactions)} rounds left.")
        ctx.session.note("Hurry.")


@pytest.mark.parametrize("strategy", [*TEXT_STRATEGIES, StructuredState])
def test_a_note_stands_beside_the_latest_observation_retries_included(
    tmp_path: Path, strategy: Build
) -> None:
    seen: list[str] = []
    texts = ["Action: read", "hm", DONE]
    if strategy is StructuredState:
        texts = [
            '{"state_patch": {}, "action": "Action: read"}',
            "hm",
            f'{{"state_patch": {{}}, "action": "{DONE}"}}',
        ]
    replies = iter(texts)

    def reply(request: Request) -> str:
        seen.append("\n".join(message.text for message in request.messages))
        return next(replies)

    past = play(tmp_path, reply, [Warn()], tasks=1, agent=agent_of(strategy))
    assert ["8 rounds left." in text for text in seen] == [True, False, False]
    assert ["7 rounds left.\nHurry." in text for text in seen] == [False, True, True]
    assert all("rounds left" not in message.text for message in past[0].history), "it is no observation"
    notes = past.line(0)["notes"]
    assert [after for after, _ in notes] == [0, 1, 1, 2, 2]


def test_a_reply_with_a_lone_surrogate_ends_no_run(tmp_path: Path) -> None:
    for _ in range(2):
        past = play(tmp_path, ["x \ud800\0", DONE], tasks=1)
    assert past[0].interactions[0].action == "x \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
