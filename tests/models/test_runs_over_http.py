"""Whole runs against a server that fails in the middle: they stop, and resume without asking twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ModelUnavailable
from perdure.core.types import Message, Request, SessionStatus
from perdure.storage.ledger import LedgerRow
from tests.core.playing import step_to_goal
from tests.models.fake_provider import Answer, FakeProvider, Received, completion, error


def competent(received: Received) -> Answer:
    messages = tuple(Message("user", message["content"]) for message in received.body["messages"])
    return Answer(completion(step_to_goal(Request(messages))))


def config_for(server: FakeProvider) -> dict[str, Any]:
    model = {"provider": "openai_compatible", "model": "m", "base_url": server.url, "first_pause": 0.001}
    return {"environment": {"name": "counter"}, "models": {"default": model}, "execution": {"limit": 4}}


def test_a_run_stops_at_a_refusal_and_resumes_where_it_stopped(tmp_path: Path) -> None:
    with FakeProvider(then=competent) as server:
        whole = perdure.run(config_for(server), out=tmp_path / "whole")
        asked = len(server.requests)
    assert all(record.correct for record in whole.records())
    answers = iter([*[None] * (asked // 2), Answer(error("out of credit"), 402)])

    def refuse_once(received: Received) -> Answer:
        return next(answers, None) or competent(received)

    with FakeProvider(then=refuse_once) as server:
        with pytest.raises(ModelUnavailable, match="out of credit"):
            perdure.run(config_for(server), out=tmp_path / "broken")
        resumed = perdure.run(config_for(server), out=tmp_path / "broken")
        assert len(server.requests) == asked + 1
    assert list(resumed.records()) == list(whole.records())


def test_a_context_limit_ends_one_session_and_not_the_run(tmp_path: Path) -> None:
    answers = iter([Answer(error("too long", code="context_length_exceeded"), 400)])
    with FakeProvider(then=lambda received: next(answers, None) or competent(received)) as server:
        # One lane, so that the first request is the first task's.
        config = {**config_for(server), "execution": {"limit": 4, "max_parallel": 1}}
        records = list(perdure.run(config, out=tmp_path).records())
    assert [record.status for record in records][:1] == [SessionStatus.AGENT_CONTEXT_LIMIT]
    assert [record.correct for record in records] == [False, True, True, True]


def test_the_ledger_holds_what_the_server_counted(tmp_path: Path) -> None:
    with FakeProvider(then=competent) as server:
        run = perdure.run(config_for(server), out=tmp_path)
        asked = len(server.requests)
    calls = [call for line in run.reader.ledger() for call in line["calls"]]
    assert [call[5:7] for call in calls] == [[7, 3]] * asked


def slowly(received: Received) -> Answer:
    time.sleep(0.1)
    return competent(received)


def test_the_wait_for_a_connection_is_no_time_of_the_task(tmp_path: Path) -> None:
    """Twelve lanes share one connection: most of the run each of them waits, and none meets its limit."""
    with FakeProvider(then=slowly) as server:
        config = config_for(server)
        config["models"]["default"]["max_concurrency"] = 1
        config["limits"] = {"max_seconds": 2.0}
        config["execution"] = {"limit": 12, "max_parallel": 12, "fsync": False}
        began = time.monotonic()
        run = perdure.run(config, out=tmp_path)
        took = time.monotonic() - began
    assert all(record.correct for record in run.records())
    ledger = list(run.reader.ledger())
    assert took > 3.0, "each task was under way for longer than its limit"
    assert sum(line["seconds"] for line in ledger) < 1.5 * took
    assert sum(LedgerRow(*row).seconds for line in ledger for row in line["calls"]) <= took
