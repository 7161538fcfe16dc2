from __future__ import annotations

import time
from pathlib import Path

import pytest

from perdure.core.agent import Absorbed, ModelAgent
from perdure.core.controller import Limits
from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, EvaluationOutcome, Reply, Request, SessionStatus
from perdure.models.scripted import Given, ScriptedModel
from perdure.strategies.full_history import FullHistory
from tests.core.bench import Bench
from tests.core.playing import DONE, play, pool_of, step_to_goal
from tests.core.sealed import edit
from tests.core.spy import Spy, counted

S = SessionStatus


def test_the_interaction_limit_ends_a_session(tmp_path: Path) -> None:
    model = ScriptedModel(["Action: read"] * 9)
    limits = Limits(max_interactions=3, max_turns=9)
    past = play(tmp_path, tasks=1, limits=limits, pool=pool_of(model))
    record = past[0].record
    assert (record.status, record.finish_reason) == (S.TASK_LIMIT_REACHED, "3 interactions used")
    assert (record.interactions, record.turns, model.calls) == (3, 3, 3)
    assert record.outcome is EvaluationOutcome.INCORRECT


def test_what_was_reached_by_the_limit_is_graded(tmp_path: Path) -> None:
    def never_done(request: Request) -> str:
        reply = step_to_goal(request)
        return "Action: read" if reply == DONE else reply

    past = play(tmp_path, never_done, tasks=2)
    for record in past.records():
        assert record.status is S.TASK_LIMIT_REACHED
        assert record.outcome is EvaluationOutcome.CORRECT


def test_ending_in_the_last_round_is_no_limit(tmp_path: Path) -> None:
    limits = Limits(max_interactions=3, max_turns=9)
    past = play(tmp_path, ["Action: read", "Action: read", DONE], tasks=1, limits=limits)
    assert past[0].record.status is S.COMPLETED


def test_as_the_paper_the_model_is_asked_once_more_and_its_reply_discarded(tmp_path: Path) -> None:
    model = ScriptedModel(["Action: read", "Action: read", DONE])
    limits = Limits(max_interactions=2, max_turns=9, ask_beyond_limit=True)
    past = play(tmp_path, tasks=1, limits=limits, pool=pool_of(model))
    record = past[0].record
    assert model.calls == 3
    assert (record.status, record.interactions, record.turns) == (S.TASK_LIMIT_REACHED, 2, 2)
    calls = list(past.calls(0))
    assert len(calls) == 3
    assert getattr(calls[-1].outcome, "text", None) == DONE
    assert all(message.text != DONE for message in past[0].history)


def test_a_model_that_fails_beyond_the_limit_decides_the_status(tmp_path: Path) -> None:
    limits = Limits(max_interactions=1, max_turns=9, ask_beyond_limit=True)
    replies: list[Given] = ["Action: read", ModelError("too long", S.AGENT_CONTEXT_LIMIT)]
    past = play(tmp_path, replies, tasks=1, limits=limits)
    assert past[0].record.status is S.AGENT_CONTEXT_LIMIT


class Picky(FullHistory):
    """A strategy that takes a reply only when it shouts."""

    def absorb(self, reply: Reply) -> Absorbed:
        text = reply.text
        return Absorbed(action=text.capitalize()) if text.isupper() else Absorbed(error="Shout!")


def picky_agent(model: ModelHandle) -> ModelAgent:
    return ModelAgent(model, Picky(), retries=9)


def test_endless_rejections_by_the_strategy_end_at_the_turn_limit(tmp_path: Path) -> None:
    limits = Limits(max_interactions=8, max_turns=5)
    past = play(tmp_path, lambda request: "hm", tasks=1, limits=limits, agent=picky_agent)
    record = past[0].record
    assert (record.status, record.finish_reason) == (S.TASK_LIMIT_REACHED, "5 turns used")
    assert (record.turns, record.interactions) == (5, 0)
    assert len(list(past.calls(0))) == 5, "a retry is logged like any call"


def test_a_rejection_by_the_strategy_is_shown_and_forgotten(tmp_path: Path) -> None:
    past = play(tmp_path, ["hm", "ACTION: READ", "ACTION: DONE"], tasks=1, agent=picky_agent)
    first, second, third = ([m.text for m in call.messages] for call in past.calls(0))
    assert second == [*first, "hm", "Shout!"]
    assert third[: len(first)] == first
    assert "Shout!" not in third
    assert past[0].record.turns == 3


def test_every_inference_is_an_event_retries_included(tmp_path: Path) -> None:
    log: list[tuple[str, str]] = []
    play(tmp_path, ["hm", "hm", "ACTION: DONE"], [Spy(log)], tasks=1, agent=picky_agent)
    assert counted(log)["on_agent_inference"] == 3
    assert counted(log)["on_environment_interact"] == 1


def test_a_reply_that_cannot_be_had_again_ends_the_session(tmp_path: Path) -> None:
    past = play(tmp_path, ["hm"], tasks=1, agent=picky_agent)
    record = past[0].record
    assert (record.status, record.turns, record.interactions) == (S.AGENT_UNKNOWN_ERROR, 2, 0)


def test_the_wall_clock_limit(tmp_path: Path) -> None:
    def slow(request: Request) -> str:
        time.sleep(0.1)
        return "Action: read"

    limits = Limits(max_interactions=1000, max_turns=1000, max_seconds=0.3)
    past = play(tmp_path, slow, tasks=2, limits=limits)
    for record in past.records():
        assert (record.status, record.finish_reason) == (S.TASK_LIMIT_REACHED, "0.3 seconds used")
        assert 1 <= record.interactions <= 3, "each task has its own clock"


def test_time_before_an_interruption_counts_but_what_was_played_then_is_played_again(bench: Bench) -> None:
    bench.model("if len(request.messages) > 6: raise ModelUnavailable('down')\n    return 'go'")
    limits = {"max_seconds": 500.0, "max_interactions": 50}
    with pytest.raises(ModelUnavailable, match="down"):
        bench.run("environment.tasks=1", limits=limits)

    def answer_late(lines: list[dict[str, JSON]]) -> None:
        assert [line["is"] for line in lines[-2:]] == ["observed", "asked"]
        lines[-2]["at"] = 1000

    edit(bench.out / "calls" / "0.jsonl", answer_late)
    bench.model("return 'go'")
    (record,) = bench.run("environment.tasks=1", limits=limits).records()
    assert record.finish_reason == "500.0 seconds used"
    assert record.interactions == 3


@pytest.mark.parametrize("status", [S.AGENT_CONTEXT_LIMIT, S.AGENT_OUT_OF_MEMORY, S.AGENT_UNKNOWN_ERROR])
def test_a_reply_that_cannot_be_had_becomes_a_status_and_the_run_goes_on(
    tmp_path: Path, status: SessionStatus
) -> None:
    replies: list[Given] = [DONE, "Action: read", ModelError("cannot", status), DONE]
    past = play(tmp_path, replies, tasks=3)
    records = list(past.records())
    assert [record.status for record in records] == [S.COMPLETED, status, S.COMPLETED]
    assert records[1].finish_reason == "cannot"
    assert (records[1].turns, records[1].interactions) == (2, 1)
    assert records[1].outcome is EvaluationOutcome.INCORRECT, "graded all the same"


def test_defaults_of_a_configuration(bench: Bench) -> None:
    bench.model("return 'go'")
    (record, *_) = bench.run().records()
    assert record.finish_reason == "4 interactions used", "the environment's own limit"
    bench.out = bench.folder / "short"
    (record, *_) = bench.run("limits.max_interactions=2").records()
    assert record.finish_reason == "2 interactions used"


def test_a_task_whose_set_up_fails_is_reported_by_the_environment(bench: Bench) -> None:
    bench.knobs(broken=["1"])
    run = bench.run()
    records = list(run.records())
    assert [record.status for record in records] == [S.COMPLETED, S.TASK_ENVIRONMENT_ERROR, S.COMPLETED]
    assert records[1].finish_reason == "set-up failed"
    assert (records[1].turns, records[1].interactions) == (0, 0)
    assert records[1].outcome is EvaluationOutcome.INCORRECT
    assert run.metrics == {"wins": 2.0}
