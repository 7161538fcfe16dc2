"""Many lanes at once: hands out places of a schedule to threads, gives back what is finished, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Condition, Thread

from perdure.core.errors import Divergence, InfrastructureError
from perdure.core.recording import FinishedTask
from perdure.experiment.lane import Lane

AHEAD = 8
"""How many places a lane, at most, are handed out beyond the oldest one that is not committed."""


class LaneStopped(InfrastructureError):
    """Another lane failed, or the user interrupted: this one stops before its next call or action."""


class Lanes:
    """Threads that each build a lane when they first need it, use it, and free it.

    `play(lane, index)` plays one place; a lane that diverges is built anew and plays that place again. After
    the first failure nothing more is handed out.
    """

    def __init__(
        self,
        places: range,
        count: int,
        build: Callable[[], Lane],
        play: Callable[[Lane, int], FinishedTask],
    ) -> None:
        self._build = build
        self._play = play
        self._window = AHEAD * count
        self._condition = Condition()
        self._next = self._committed = places.start
        self._end = self._gate = places.stop
        self._done: dict[int, FinishedTask] = {}
        self._failures: dict[int, BaseException] = {}
        self._stopping = False
        self._threads = [
            Thread(target=self._work, name=f"lane-{number}", daemon=True)
            for number in range(min(count, len(places)))
        ]
        self._running = len(self._threads)

    def finished(self, gate: Callable[[int], int] | None = None) -> Iterator[list[FinishedTask]]:
        """What is finished and next in line, as it comes; the caller commits it before it asks on.

        `gate(place)` says up to where may be handed out once everything before `place` is committed. Raises
        the failure of the smallest place, after everything before it that was finished.
        """
        if gate is not None:
            self._gate = gate(self._committed)
        for thread in self._threads:
            thread.start()
        while self._committed < self._end:
            with self._condition:
                self._condition.wait_for(lambda: self._committed in self._done or not self._running)
            tasks = self._in_line()
            if not tasks:
                break
            yield tasks
            if gate is not None and self._committed + len(tasks) == self._gate < self._end:
                self._gate = gate(self._gate)
            with self._condition:
                self._committed += len(tasks)
                self._condition.notify_all()
        if self._failures:
            raise self._failures[min(self._failures)]

    def stop(self) -> list[FinishedTask]:
        """Hand out nothing more, await the answers under way; what is finished and next in line."""
        self._stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        return self._in_line()

    def check(self) -> None:
        """Called before each call and action of a lane. Raises LaneStopped."""
        if self._stopping:
            raise LaneStopped("the run is stopping")

    def _stop(self) -> None:
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def _in_line(self) -> list[FinishedTask]:
        with self._condition:
            tasks: list[FinishedTask] = []
            while (place := self._committed + len(tasks)) in self._done:
                tasks.append(self._done.pop(place))
            return tasks

    def _work(self) -> None:
        lane: Lane | None = None
        try:
            while (place := self._take()) is not None:
                try:
                    lane = lane or self._build()
                    finished = self._play(lane, place)
                except Divergence:
                    if lane is not None:
                        lane.close()
                    lane = self._build()
                    finished = self._play(lane, place)
                with self._condition:
                    self._done[place] = finished
                    self._condition.notify_all()
        except LaneStopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again where the run waits
            with self._condition:
                self._failures[place if place is not None else self._end] = error
            self._stop()
        finally:
            if lane is not None:
                lane.close()
            with self._condition:
                self._running -= 1
                self._condition.notify_all()

    def _take(self) -> int | None:
        """The next place, once it may be handed out; None when there is none for this lane."""
        with self._condition:
            self._condition.wait_for(self._may_go_on)
            if self._stopping or self._next >= self._end:
                return None
            self._next += 1
            return self._next - 1

    def _may_go_on(self) -> bool:
        ahead = self._next - self._committed
        return self._stopping or self._next >= self._end or (self._next < self._gate and ahead < self._window)
