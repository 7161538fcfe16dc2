"""Calls of a pool pass through the call log, one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from perdure.core.errors import Divergence, ModelUnavailable
from perdure.core.model import Outcome
from perdure.core.parts import Reasoning, Text, ToolCall
from perdure.core.types import JSON, Completion, Request
from perdure.core.usage import Usage
from perdure.models.scripted import ScriptedModel
from tests.core.pool_parts import Batches, Store, ask, echo, logged, texts
from tests.core.sealed import edit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize(("at_once", "seconds"), [(1, (0.2, 0.2)), (2, (0.2, 0.4))])
def test_each_call_has_its_own_seconds(folder: Path, at_once: int, seconds: tuple[float, float]) -> None:
    class Slow(Batches):
        max_concurrency = at_once

        def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
            for answer in super().generate(requests):
                time.sleep(0.2)
                yield answer

    pool, log = logged(folder, Slow())
    pool.caller("agent", "m").generate([ask("a"), ask("b")])
    for charge, expected in zip(log.charges, seconds, strict=True):
        assert expected <= charge.seconds < expected + 0.19
    log.close()


def test_waiting_for_a_connection_is_not_time_spent_on_the_task(folder: Path) -> None:
    class Queued(Batches):
        def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
            time.sleep(0.4)
            yield 0, Completion("x", seconds=0.1)

    pool, log = logged(folder, Queued())
    pool.caller("agent", "m").generate([ask("a")])
    assert [charge.seconds for charge in log.charges] == [0.1]
    assert 0.1 <= log.seconds < 0.3
    log.close()


def test_calls_are_recorded_in_the_order_of_the_requests_with_their_callers(folder: Path) -> None:
    pool, log = logged(folder, Batches(), Store())
    agent, critic = pool.caller("agent", "m"), pool.caller("critic", "m")
    agent.generate([ask("a")])
    critic.generate([ask("b"), ask("a"), ask("bad")])
    assert [(c.caller, c.number, c.request) for c in log.calls] == [
        ("agent", 0, ask("a")),
        ("critic", 0, ask("b")),
        ("critic", 1, ask("a")),
        ("critic", 2, ask("bad")),
    ]
    assert log.turn == 0
    log.close()
    model = Batches()
    pool, log = logged(folder, model)
    assert texts(pool.caller("agent", "m").generate([ask("a")])) == ["A"]
    assert texts(pool.caller("critic", "m").generate([ask("b"), ask("a"), ask("bad")])) == [
        "B",
        "A",
        "error bad",
    ]
    assert model.batches == [], "served from the log, cache hits and errors too"
    assert [c.answered for c in log.charges] == ["asked", "cache", "asked", "asked"], "as first answered"
    assert pool.usage.prompt_tokens == 20
    log.close()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_of_a_batch_that_was_partly_answered_only_the_rest_is_asked(folder: Path, lost: int) -> None:
    pool, log = logged(folder, Batches())
    pool.caller("agent", "m").generate([ask("a"), ask("b"), ask("c")])
    log.close()

    def lose(lines: list[dict[str, JSON]]) -> None:
        (place,) = [
            i for i, line in enumerate(lines) if (line["is"], line.get("number")) == ("answered", lost)
        ]
        del lines[place]

    edit(folder / "0.jsonl", lose)
    model = Batches()
    pool, log = logged(folder, model)
    assert texts(pool.caller("agent", "m").generate([ask("a"), ask("b"), ask("c")])) == ["A", "B", "C"]
    assert model.batches == [["abc"[lost]]]
    expected = ["asked", "asked", "asked"]
    expected[lost] = "unanswered"
    assert [c.answered for c in log.charges] == [*expected, "asked"], "the lost one is perhaps paid"
    assert [call.number for call in log.calls] == [0, 1, 2]
    log.close()


def test_a_batch_that_fails_as_a_whole_is_perhaps_paid(folder: Path) -> None:
    pool, log = logged(folder, Batches())
    with pytest.raises(ModelUnavailable):
        pool.caller("agent", "m").generate([ask("a"), ask("down")])
    assert log.calls == ()
    assert [(c.number, c.answered) for c in log.charges] == [(0, "unanswered"), (1, "unanswered")]
    log.close()


def test_what_had_arrived_when_a_batch_failed_is_logged_and_not_asked_again(folder: Path) -> None:
    class Dying(Batches):
        def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
            yield 2, echo(requests[2])
            yield 0, echo(requests[0])
            raise ModelUnavailable("gone")

    batch = [ask("a"), ask("b"), ask("c")]
    cache = Store()
    pool, log = logged(folder, Dying(), cache)
    with pytest.raises(ModelUnavailable, match="gone"):
        pool.caller("agent", "m").generate(batch)
    assert [c.answered for c in log.charges] == ["asked", "unanswered", "asked"]
    assert pool.usage.prompt_tokens == 20
    assert len(cache.kept) == 2
    log.close()
    model = Batches()
    pool, log = logged(folder, model)
    assert texts(pool.caller("agent", "m").generate(batch)) == ["A", "B", "C"]
    assert model.batches == [["b"]]
    log.close()


def test_replies_are_cleaned_where_they_enter(folder: Path) -> None:
    given = Completion(
        [Text("<think>hm</think>\n\nls \ud800"), ToolCall("1", "f", "{\0}")], usage=Usage(1, 1)
    )
    clean = Completion(
        [Reasoning("hm"), Text("ls \ufffd"), ToolCall("1", "f", "{\ufffd}")], usage=Usage(1, 1)
    )
    cache = Store()
    pool, log = logged(folder, ScriptedModel([given]), cache)
    assert pool.caller("agent", "m").generate([ask("a")]) == [clean]
    assert [call.outcome for call in log.calls] == [clean]
    assert list(cache.kept.values()) == [clean]
    log.close()
    pool, log = logged(folder, ScriptedModel([]))
    assert pool.caller("agent", "m").generate([ask("a")]) == [clean], "and recorded as they were read"
    log.close()


def test_another_request_than_the_recorded_one_is_a_divergence(folder: Path) -> None:
    pool, log = logged(folder, Batches())
    pool.caller("agent", "m").generate([ask("a")])
    log.close()
    pool, log = logged(folder, Batches())
    with pytest.raises(Divergence, match="'agent' asked 'm' something that was not asked then"):
        pool.caller("agent", "m").generate([ask("z")])
    log.close()
