from __future__ import annotations

import time
from threading import Event, Lock, active_count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.models.as_answered import as_answered


@given(st.integers(0, 12), st.integers(1, 5))
@settings(deadline=None, max_examples=30)
def test_every_item_once_and_never_too_many_at_once(count: int, most: int) -> None:
    lock, under_way, peak = Lock(), 0, 0

    def work(item: int, stop: Event) -> int:
        nonlocal under_way, peak
        with lock:
            under_way += 1
            peak = max(peak, under_way)
        time.sleep(0.001)
        with lock:
            under_way -= 1
        return item * 2

    assert dict(as_answered(work, range(count), most)) == {i: 2 * i for i in range(count)}
    assert peak <= most


def test_results_come_as_they_arrive() -> None:
    def work(item: float, stop: Event) -> float:
        time.sleep(item)
        return item

    assert [position for position, _ in as_answered(work, [0.3, 0.0, 0.15], 3)] == [1, 2, 0]


def test_after_a_failure_what_is_under_way_is_handed_out_and_nothing_is_begun() -> None:
    begun: list[int] = []

    def work(item: int, stop: Event) -> int:
        begun.append(item)
        if item == 0:
            time.sleep(0.05)
            raise LookupError("first")
        stop.wait(5)
        time.sleep(0.05)
        return item

    got: list[int] = []
    answers = as_answered(work, range(10), 3)
    with pytest.raises(LookupError, match="first"):
        got.extend(position for position, _ in answers)
    assert sorted(got) == [1, 2]
    assert sorted(begun) == [0, 1, 2]


def test_nobody_waits_for_who_stopped_listening() -> None:
    started = time.monotonic()
    before = active_count()

    def work(item: int, stop: Event) -> int:
        if item:
            stop.wait(20)
        return item

    answers = as_answered(work, range(8), 4)
    assert next(answers) == (0, 0)
    del answers
    assert time.monotonic() - started < 5
    while active_count() > before and time.monotonic() - started < 5:
        time.sleep(0.01)
    assert active_count() <= before, "what was under way was told to stop"
