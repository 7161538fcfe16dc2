"""Handing out places to lanes: how far ahead, what a failure stops, and what a divergence frees."""

from __future__ import annotations

import time
from threading import Event, Timer
from typing import Any, cast

import pytest

from perdure.core.errors import Divergence
from perdure.core.recording import FinishedTask
from perdure.experiment.lanes import AHEAD, Lanes, LaneStopped


class Idle:
    """A lane that counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def made(place: int) -> FinishedTask:
    """A task that nobody looks into."""
    return cast(FinishedTask, place)


def played(lanes: Lanes) -> list[Any]:
    return [task for tasks in lanes.finished() for task in tasks]


def test_lanes_run_so_far_ahead_of_the_oldest_and_no_further() -> None:
    started: list[int] = []
    ahead: list[int] = []
    released = Event()

    def release() -> None:
        ahead.append(max(started))
        released.set()

    def play(lane: Any, place: int) -> FinishedTask:
        started.append(place)
        if place == 0:
            assert released.wait(20)
        elif place == 2 * AHEAD - 1:
            Timer(0.2, release).start()
        return made(place)

    lanes: Any = Lanes(range(100), 2, Idle, play)  # type: ignore[arg-type]
    assert played(lanes) == list(range(100))
    assert ahead == [2 * AHEAD - 1]


def test_a_failure_stops_the_other_lanes_before_their_next_step() -> None:
    stopped: list[int] = []
    under_way = Event()

    def play(lane: Any, place: int) -> FinishedTask:
        if place == 3:
            assert under_way.wait(20)
            raise KeyError("place 3")
        if place == 4:
            under_way.set()
        until = time.monotonic() + 10
        while place == 4 and time.monotonic() < until:
            time.sleep(0.001)
            try:
                lanes.check()
            except LaneStopped:
                stopped.append(place)
                raise
        return made(place)

    lanes = Lanes(range(100), 4, Idle, play)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="place 3"):
        played(lanes)
    lanes.stop()
    assert stopped == [4]


def test_a_place_that_diverged_is_played_again_in_a_lane_of_its_own() -> None:
    lanes_built: list[Idle] = []

    def build() -> Idle:
        lanes_built.append(Idle())
        return lanes_built[-1]

    def play(lane: Any, place: int) -> FinishedTask:
        if place == 2 and lane is lanes_built[0]:
            raise Divergence("it answered otherwise")
        return made(place)

    lanes = Lanes(range(5), 1, build, play)  # type: ignore[arg-type]
    assert played(lanes) == [0, 1, 2, 3, 4]
    assert [lane.closed for lane in lanes_built] == [1, 1]
