"""Learning in blocks: within a block of sessions memory is frozen; at its end what they learned is folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perdure.core.callback import CallbackList
from perdure.core.session import PastSessions
from perdure.core.types import JSON, Message
from perdure.experiment.frozen import FrozenCallbacks
from perdure.experiment.lane import Lane
from perdure.storage.past_until import PastUntil
from perdure.storage.run_store import RunStore
from perdure.storage.snapshots import Snapshot


def next_border(place: int, size: int, sessions: int) -> int:
    """The first border of blocks of `size` at or after a place; the end of the schedule is one."""
    return min(-(-place // size) * size, sessions)


@dataclass(frozen=True)
class Block:
    """What every session of a block meets: callback states, the past, and what the history factory holds."""

    past: PastSessions
    states: Mapping[str, JSON]
    history_items: tuple[Message, ...] | None

    def meet(self, lane: Lane) -> PastSessions:
        """Let the lane's next session begin with the memory of the block's beginning; the past it sees."""
        callbacks = lane.callbacks
        if isinstance(callbacks, FrozenCallbacks):
            callbacks.meet(self.past, self.states)
        if self.history_items is not None:
            lane.set_history_items(self.history_items)
        return self.past


class Blocks:
    """Blocks of `size` sessions, counted from session 0; the last one of a schedule may be short.

    `learners` builds the callbacks that keep a state over sessions; `history_items` is what the history
    factory holds at first.
    """

    def __init__(
        self, size: int, learners: Callable[[], CallbackList], history_items: tuple[Message, ...]
    ) -> None:
        self.size = size
        self._learners = learners
        self._first_items = history_items
        self.current: Block

    def begins(self, place: int) -> bool:
        """Whether a block begins here."""
        return place % self.size == 0

    def end(self, place: int) -> int:
        """Where the block that holds a place ends."""
        return (place // self.size + 1) * self.size

    def enter(self, place: int, store: RunStore) -> None:
        """Make the block that holds a place the current one. Its beginning is committed."""
        begin = place - place % self.size
        snapshot = self.state_after(begin, store)
        items = snapshot.history_items if snapshot.history_items is not None else self._first_items
        self.current = Block(PastUntil(store.past, begin), snapshot.callbacks, items)

    def state_after(self, tasks: int, store: RunStore) -> Snapshot:
        """The full state after so many sessions, a border: deltas are folded in schedule order."""
        snapshot, deltas = store.state(tasks)
        if not tasks:
            return snapshot
        learners = self._learners()
        try:
            learners.restore(snapshot.callbacks, deltas)
            return Snapshot(tasks, learners.snapshot(), snapshot.history_items)
        finally:
            learners.close()

    def snapshot_due(self, done: int, planned: int, every: int) -> bool:
        """Snapshots move up to the next border, the end of the schedule among them."""
        if not done or (done % self.size and done != planned):
            return False
        begin = (done - 1) // self.size * self.size
        return done // every > begin // every
