"""The call log by itself: what it serves, what it refuses to serve, and what damage to its file costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perdure.core.errors import Divergence
from perdure.core.model import NumberedCall
from perdure.core.types import (
    JSON,
    Completion,
    Message,
    Observation,
    Request,
    SessionStatus,
)
from perdure.storage.call_lines import read_log
from perdure.storage.call_log import CallLog
from tests.core.sealed import edit
from tests.storage.logs import make, number, opened, opening, recall, request, three_events


def test_calls_are_served_by_number_and_then_no_more(tmp_path: Path) -> None:
    three_events(tmp_path)
    with opened(tmp_path) as log:
        assert recall(log, "a") == Completion("a")
        log.observe(Observation("seen"))
        assert recall(log, "b") == Completion("b")
        assert recall(log, "c") is None
        assert [(call.number, call.request) for call in log.calls] == [
            (0, request("a")),
            (1, request("b")),
            (2, request("c")),
        ]
        log.check_complete()
    with opened(tmp_path) as log:
        assert recall(log, "a") is not None
        log.observe(Observation("seen"))
        assert recall(log, "b") is not None
        assert recall(log, "c") == Completion("new c")


def test_a_batch_may_be_answered_in_any_order_and_each_answer_stands_at_once(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        batch = [number(log, text) for text in "abc"]
        for call in batch:
            log.ask(call)
        log.answer(batch[2], Completion("C"), 0.1)
        log.answer(batch[0], Completion("A"), 0.2)
        killed = (tmp_path / "0.jsonl").read_bytes()
        log.answer(batch[1], Completion("B"), 0.3)
        assert [call.outcome for call in log.calls] == [Completion("A"), Completion("B"), Completion("C")]
    (tmp_path / "0.jsonl").write_bytes(killed)
    with opened(tmp_path) as log:
        assert [number(log, text).recorded for text in "abc"] == [Completion("A"), None, Completion("C")]


def test_two_callers_have_numbers_of_their_own(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        calls = [number(log, text, caller) for text, caller in (("a", "x"), ("b", "y"), ("c", "x"))]
        assert [call.number for call in calls] == [0, 0, 1]


def test_answers_may_come_from_many_threads(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        calls = [number(log, str(i)) for i in range(64)]

        def play(call: NumberedCall) -> None:
            log.ask(call)
            log.answer(call, Completion(call.digest), 0.1)

        with ThreadPoolExecutor(16) as threads:
            list(threads.map(play, calls))
    content = read_log(tmp_path / "0.jsonl")
    assert content.damaged == 0
    assert len(content.charges) == 64
    with opened(tmp_path) as log:
        assert [number(log, str(i)).recorded for i in range(64)] == [
            Completion(f"digest of {i}") for i in range(64)
        ]


def test_how_often_a_task_was_taken_up_is_counted_over_many_interruptions(tmp_path: Path) -> None:
    for interruptions in range(3):
        with opened(tmp_path) as log:
            assert log.times.resumes == interruptions
    three_events(tmp_path)
    for interruptions in range(4, 7):
        with opened(tmp_path) as log:
            assert log.times.resumes == interruptions
            assert recall(log, "a") is not None, "the record is kept"


@pytest.mark.parametrize("other", [{"task": "u"}, {"index": 1}, {"repeat": 1}, {"identity": "z"}])
def test_the_record_of_another_trial_is_set_aside_and_stays_charged(
    tmp_path: Path, other: dict[str, str | int]
) -> None:
    three_events(tmp_path)
    before = (tmp_path / "0.jsonl").read_bytes()
    for again in range(2):
        with opened(tmp_path, "restart", **(other if again == 0 else {})) as log:
            assert recall(log, "a") is None
            assert (log.times.resumes, log.times.divergences) == (0, 0)
    assert (tmp_path / "0.aside-0.jsonl").read_bytes() == before
    asides = [read_log(tmp_path / f"0.aside-{number}.jsonl") for number in (0, 1)]
    assert [len(content.charges) for content in asides] == [2, 1]


def differing_call(log: CallLog) -> None:
    recall(log, "z")


def differing_caller(log: CallLog) -> None:
    recall(log, "a", caller="critic")


def observation_instead_of_call(log: CallLog) -> None:
    log.observe(Observation("seen"))


def differing_observation(log: CallLog) -> None:
    recall(log, "a")
    log.observe(Observation("seen otherwise"))


def refused_observation(log: CallLog) -> None:
    recall(log, "a")
    log.observe(Observation("seen", accepted=False))


def terminal_observation(log: CallLog) -> None:
    recall(log, "a")
    log.observe(Observation("seen", status=SessionStatus.COMPLETED))


def rewarded_observation(log: CallLog) -> None:
    recall(log, "a")
    log.observe(Observation("seen", reward=0.5))


def opening_instead_of_observation(log: CallLog) -> None:
    recall(log, "a")
    log.open(opening("seen"))


def call_instead_of_observation(log: CallLog) -> None:
    recall(log, "a")
    recall(log, "b")


def early_end(log: CallLog) -> None:
    recall(log, "a")
    log.check_complete()


DIFFERENCES = [
    differing_call,
    differing_caller,
    observation_instead_of_call,
    differing_observation,
    refused_observation,
    terminal_observation,
    rewarded_observation,
    opening_instead_of_observation,
    call_instead_of_observation,
    early_end,
]


@pytest.mark.parametrize("differ", DIFFERENCES)
def test_a_difference_restarts_the_task(tmp_path: Path, differ: Callable[[CallLog], None]) -> None:
    three_events(tmp_path)
    with opened(tmp_path) as log:
        with pytest.raises(Divergence, match="the task starts again"):
            differ(log)
        log.restart(diverged=True)
        assert (log.times.divergences, log.times.restarts) == (1, 1)
        assert recall(log, "a") is None
        assert [(c.attempt, c.number) for c in log.charges] == [(0, 0), (0, 1), (1, 0)], "all stay charged"
    with opened(tmp_path) as log:
        assert (log.times.divergences, log.times.restarts) == (1, 1), "counted across processes"
        assert recall(log, "a") == Completion("new a")
        assert [(c.attempt, c.number) for c in log.charges] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("differ", DIFFERENCES)
def test_a_difference_may_be_kept_and_drops_the_rest_of_the_record(
    tmp_path: Path, differ: Callable[[CallLog], None]
) -> None:
    three_events(tmp_path)
    before = (tmp_path / "0.jsonl").read_bytes()
    with opened(tmp_path, "keep") as log:
        differ(log)
        assert log.times.divergences == 1
        make(log, "new")
        calls, charged = log.calls, len(log.charges)
    assert (tmp_path / "0.jsonl").read_bytes().startswith(before), "only appended to"
    with opened(tmp_path, "keep") as log:
        assert (log.times.divergences, log.times.resumes) == (1, 2), "counted across processes"
        if differ is early_end:
            recall(log, "a")  # this time it does not end there
        else:
            differ(log)
        assert number(log, "new").recorded == Completion("new")
        assert log.times.divergences == 1, "what was kept is what is served now"
        assert log.calls == calls
        assert len(log.charges) == charged


def test_an_equal_observation_is_answered_with_the_recorded_text(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        assert log.open(opening("ready <1>")) == opening("ready <1>")
        log.observe(Observation("took <3 s>", reason="in <3 s>"))
    with opened(tmp_path) as log:
        assert log.open(opening("ready <2>")) == opening("ready <1>"), "history too"
        recorded = Observation("took <3 s>", reason="in <3 s>")
        assert log.observe(Observation("took <4 s>", reason="in <4 s>")) == recorded
        assert log.times.divergences == 0
        fresh = Observation("took <5 s>")
        assert log.observe(fresh) == fresh


def at(folder: Path, **times: float) -> None:
    """Set when the events of `three_events` happened: the calls `a` and `b`, and what was `seen`."""

    def change(lines: list[dict[str, JSON]]) -> None:
        for line in lines:
            name = line.get("request", "").removeprefix("digest of ") or line.get("observation", {}).get(
                "text"
            )
            if line["is"] == "answered":
                name = "ab"[line["number"]]
            if name in times:
                line["at"] = times[name]

    edit(folder / "0.jsonl", change)


def test_the_clock_stands_where_it_stood(tmp_path: Path) -> None:
    three_events(tmp_path)
    at(tmp_path, a=9.5, seen=20.0, b=299.5)
    with opened(tmp_path) as log:
        assert log.seconds == 9.5, "the first call began then"
        recall(log, "a")
        assert log.seconds == 10.0
        log.observe(Observation("seen"))
        assert log.seconds == 299.5
        recall(log, "b")
        assert 300.0 <= log.seconds < 310.0, "from here on it runs"


def test_the_clock_starts_again_with_the_task(tmp_path: Path) -> None:
    three_events(tmp_path)
    at(tmp_path, a=9.5, seen=20.0, b=299.5)
    with opened(tmp_path) as log:
        log.restart()
        assert log.seconds < 5


def test_the_clock_goes_on_from_a_kept_difference(tmp_path: Path) -> None:
    three_events(tmp_path)
    at(tmp_path, a=9.5, seen=20.0, b=299.5)
    with opened(tmp_path, "keep") as log:
        recall(log, "a")
        log.observe(Observation("otherwise"))
        assert 10.0 <= log.seconds < 15.0


def test_start_times_are_kept(tmp_path: Path) -> None:
    before = time.time()
    three_events(tmp_path)
    after = time.time()
    with opened(tmp_path) as log:
        assert before - 0.01 <= log.times.started <= after + 0.01
        assert all(before - 0.01 <= charge.started <= after + 0.01 for charge in log.charges)


def test_prompts_of_the_open_task_are_on_disk_and_grow_by_what_is_new(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        prompt: tuple[Message, ...] = ()
        for turn in range(5):
            prompt = (*prompt, Message("user", f"message {turn} {'x' * 400}"))
            call = log.number("agent", "m", Request(prompt), str(turn))
            log.ask(call)
            log.answer(call, Completion("ok"), 0.1)
        content = read_log(tmp_path / "0.jsonl")
    assert [call.prompt for call in content.calls.values()] == [prompt[: n + 1] for n in range(5)]
    assert (tmp_path / "0.jsonl").read_bytes().count(b"message 0") == 1


def test_a_plug_in_that_raises_at_the_same_place_again_is_known(tmp_path: Path) -> None:
    three_events(tmp_path)
    with opened(tmp_path) as log:
        before = log.failed_here
        log.fail(KeyError("bug"))
    with opened(tmp_path) as log:
        again = log.failed_here
        recall(log, "a")
        log.observe(Observation("seen"))
        recall(log, "b")
        make(log, "c")
        assert (before, again, log.failed_here) == (False, True, False), "it came further"
    with opened(tmp_path) as log:
        log.fail(KeyError("bug"))
        log.restart()
        assert not log.failed_here
