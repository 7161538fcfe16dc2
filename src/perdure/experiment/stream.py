"""Plays a schedule into a run folder and commits in its order: task order is the experiment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

from perdure.core.errors import ConfigError, ContractBroken, RunFolderError
from perdure.core.handed_over import metrics_problem
from perdure.core.recording import FinishedTask
from perdure.core.session import PastSessions, SessionRecord
from perdure.core.types import JSON, Message, Trial
from perdure.experiment.blocks import Blocks
from perdure.experiment.groups import Groups
from perdure.experiment.lane import Lane
from perdure.experiment.lanes import Lanes
from perdure.storage.call_log import CallLog, OnDivergence
from perdure.storage.run_store import RunStore
from perdure.storage.snapshots import Snapshot

Metric: TypeAlias = Callable[[Iterable[SessionRecord]], Mapping[str, float]]


class Stream:
    """A schedule, the store it goes into, and the lanes that play it.

    `lanes` above 1 play side by side: then no callback may keep a state over sessions, unless `blocks` freeze
    it. `frozen`: every session meets the history factory as it is at first, and leaves nothing of it.
    Without callbacks that reach over sessions (`reaches`) quick tasks are committed a few at a time.
    `wall_clock`: a trial's present is the second of its very first start, as its log keeps it.
    """

    def __init__(
        self,
        *,
        schedule: Sequence[Trial],
        store: RunStore,
        lane: Callable[[], Lane],
        metric: Metric,
        lanes: int = 1,
        blocks: Blocks | None = None,
        on_divergence: OnDivergence = "restart",
        normalise: Callable[[str], str] = lambda text: text,
        frozen: bool = False,
        wall_clock: bool = False,
        reaches: bool = True,
    ) -> None:
        self._schedule = schedule
        self._store = store
        self._build = lane
        self._metric = metric
        self._lanes = lanes
        self._blocks = blocks
        self._on_divergence = on_divergence
        self._normalise = normalise
        self._frozen = frozen
        self._wall_clock = wall_clock
        self._reaches = reaches
        self._serial: Lane | None = None
        self._first_items: tuple[Message, ...] | None = None
        self._edited = False
        self._check: Callable[[], None] = lambda: None

    def run(self) -> Mapping[str, JSON]:
        """Restore what was committed, play the rest, return the environment's metrics."""
        self.restore()
        self.play(len(self._schedule))
        return self.finish()

    def begin_with(self, items: tuple[Message, ...]) -> None:
        """Let a frozen history factory hold these."""
        self._first_items = items

    def restore(self) -> None:
        """Take up what was committed; once, before the first `play`.

        It must begin as the schedule does, and may be longer. Raises RunFolderError.
        """
        past = self._store.past
        for place, (done, trial) in enumerate(zip(past.committed.trials(), self._schedule, strict=False)):
            task, repeat = done or (past.line(place)["task"], None)  # damage is told by reading it
            if (task, repeat) != (trial.task_id, trial.repeat):
                raise RunFolderError(
                    f"session {place} of {str(self._store.folder)!r} is task {task!r}, "
                    f"this schedule has {trial.task_id!r} there; give another --out"
                )
        if self._blocks is None and self._lanes == 1:
            self._restore_lane()
        if len(past):
            # The process may have died between a commit and the snapshot after it.
            self._snapshot_if_due()

    def restart(self, wanted: Collection[int] | None) -> None:
        """Take a fresh start of open tasks, by their place in the schedule; None: of all.

        Raises RunFolderError for a task that is not open.
        """
        begun = {task.index for task in self._store.past.open_tasks() if task.index is not None}
        begun = {index for index in begun if index < len(self._schedule)}
        if wanted is not None and (unknown := sorted({*wanted} - begun)):
            choices = ", ".join(map(str, sorted(begun))) or "none"
            raise RunFolderError(f"task {unknown[0]} is not open; open tasks: {choices}")
        for index in sorted(begun if wanted is None else wanted):
            with closing(self._log(index)) as log:
                log.restart()

    def play(self, until: int) -> None:
        """Play on until so many sessions are committed. Raises what stopped it; the rest can be resumed."""
        places = range(len(self._store.past), until)
        if not places:
            return
        if self._lanes > 1:
            self._play_side_by_side(places)
            return
        lane = self._serial or self._built()
        if self._blocks is None and not self._reaches:
            self._play_in_groups(lane, places)
            return
        for index in places:
            if self._blocks is not None and (index == places.start or self._blocks.begins(index)):
                self._blocks.enter(index, self._store)
            self._commit([self._play_one(lane, index)])

    def finish(self) -> Mapping[str, JSON]:
        """The environment's metrics over every session that is not ignored, written beside them.

        Raises ContractBroken for what is none.
        """
        counted = (record for record in self._store.past.records() if not record.ignored)
        found = self._metric(counted)
        if (problem := metrics_problem(found)) is not None:
            raise ContractBroken(f"the environment measured the run with {problem}")
        metrics = {"environment": dict(found)}
        self._store.write_metrics(metrics)
        return metrics

    def close(self) -> None:
        """Free the lane of a serial run. Idempotent."""
        if self._serial is not None:
            self._serial.close()
            self._serial = None

    def _play_side_by_side(self, places: range) -> None:
        lanes = Lanes(places, self._lanes, self._build, self._play_one)
        self._check = lanes.check
        gate = self._gate if self._blocks is not None else None
        try:
            for tasks in lanes.finished(gate):
                self._commit(tasks)
        except KeyboardInterrupt:
            self._commit(lanes.stop())
            raise
        finally:
            lanes.stop()
            self._check = lambda: None

    def _play_in_groups(self, lane: Lane, places: range) -> None:
        groups = Groups(self._commit, lambda: self._store.until_snapshot)
        try:
            for index in places:
                groups.add(self._play_one(lane, index))
        finally:
            groups.commit()

    def _gate(self, place: int) -> int:
        """Enter the block that holds a place; where the next one begins."""
        assert self._blocks is not None
        self._blocks.enter(place, self._store)
        return min(self._blocks.end(place), len(self._schedule))

    def _built(self) -> Lane:
        self._serial = self._build()
        return self._serial

    def _restore_lane(self) -> None:
        lane = self._built()
        if len(self._store.past):
            snapshot, deltas = self._store.state()
            lane.callbacks.restore(snapshot.callbacks, deltas)
            if snapshot.history_items is not None:
                lane.set_history_items(snapshot.history_items)
                self._edited = True

    def _play_one(self, lane: Lane, index: int) -> FinishedTask:
        past: PastSessions = self._store.past
        with closing(self._log(index)) as log:
            trial = self._trial(index, log)
            if self._blocks is not None:
                past = self._blocks.current.meet(lane)
            if self._frozen:
                items = self._first_items if self._first_items is not None else lane.history_items
                return lane.play_frozen(index, trial, log, past, items)
            finished = lane.play(index, trial, log, past)
        if self._blocks is None and finished.history_items is not None and self._lanes > 1:
            raise ConfigError(
                "a callback edits the history factory, which reaches over the stream: declare "
                "reach = 'stream' in its class"
            )
        self._edited = self._edited or finished.history_items is not None
        return finished

    def _trial(self, index: int, log: CallLog) -> Trial:
        trial = self._schedule[index]
        if not self._wall_clock:
            return trial
        return replace(trial, clock=datetime.fromtimestamp(int(log.times.started), UTC))

    def _log(self, index: int) -> CallLog:
        return self._store.log(
            index,
            self._schedule[index],
            on_divergence=self._on_divergence,
            normalise=self._normalise,
            check=self._check,
        )

    def _commit(self, tasks: list[FinishedTask]) -> None:
        """Together, but never past the place of a snapshot."""
        while tasks:
            room = self._store.until_snapshot
            self._store.commit(tasks[:room])
            tasks = tasks[room:]
            self._snapshot_if_due()

    def _snapshot_if_due(self) -> None:
        done = len(self._store.past)
        if self._blocks is not None:
            if self._blocks.snapshot_due(done, len(self._schedule), self._store.snapshot_every):
                self._store.write_snapshot(self._blocks.state_after(done, self._store))
        elif self._store.snapshot_due:
            lane = self._serial
            items = lane.history_items if lane is not None and self._edited else None
            states = lane.callbacks.snapshot() if lane is not None else {}
            self._store.write_snapshot(Snapshot(done, states, items))
