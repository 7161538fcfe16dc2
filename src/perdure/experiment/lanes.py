"""Hands out the trials of a schedule and commits what was played, in order: task order is the experiment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from perdure.core.agent import Agent
from perdure.core.callback import CallbackList
from perdure.core.controller import Controller, Limits
from perdure.core.environment import Environment
from perdure.core.errors import Divergence, InfrastructureError, RunFolderError
from perdure.core.pool import ModelPool
from perdure.core.recording import FinishedTask
from perdure.core.types import JSON, Trial
from perdure.storage.call_log import CallLog, OnDivergence
from perdure.storage.run_store import RunStore
from perdure.storage.snapshots import Snapshot


class Lane:
    """An environment, an agent and callbacks, playing one trial after the other into a run folder.

    `frozen`: every session meets the history factory as it is now, and leaves nothing of it to the next.
    """

    def __init__(
        self,
        *,
        schedule: Sequence[Trial],
        environment: Environment,
        agent: Agent,
        callbacks: CallbackList,
        limits: Limits,
        pool: ModelPool,
        store: RunStore,
        on_divergence: OnDivergence = "restart",
        normalise: Callable[[str], str] = lambda text: text,
        reply_form: str = "",
        frozen: bool = False,
    ) -> None:
        self._schedule = schedule
        self._environment = environment
        self._controller = Controller(
            environment=environment,
            agent=agent,
            callbacks=callbacks,
            limits=limits,
            reply_form=reply_form,
        )
        self._callbacks = callbacks
        self._pool = pool
        self._store = store
        self._on_divergence = on_divergence
        self._normalise = normalise
        self._frozen_items = environment.history_factory.items() if frozen else None
        self._edited = False

    def run(self) -> Mapping[str, JSON]:
        """Restore what was committed, play the rest, return the environment's metrics."""
        self.restore()
        self.play(len(self._schedule))
        return self.finish()

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
        if len(past):
            snapshot, deltas = self._store.state()
            self._callbacks.restore(snapshot.callbacks, deltas)
            if snapshot.history_items is not None:
                self._environment.history_factory.assign(snapshot.history_items)
                self._edited = True
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
        """Play on until so many sessions are committed."""
        for index in range(len(self._store.past), until):
            self._store.commit([self._play(index)])
            self._snapshot_if_due()

    def finish(self) -> Mapping[str, JSON]:
        """The environment's metrics over every session that is not ignored, written beside them."""
        counted = (record for record in self._store.past.records() if not record.ignored)
        metrics = {"environment": dict(self._environment.calculate_metric(counted))}
        self._store.write_metrics(metrics)
        return metrics

    def _play(self, index: int) -> FinishedTask:
        if self._frozen_items is not None:
            self._environment.history_factory.assign(self._frozen_items)
        with closing(self._log(index)) as log, _ending_well(log):
            self._pool.recorder = log
            finished = self._controller.play(index, self._schedule[index], log, self._store.past)
        if self._frozen_items is not None:
            self._environment.history_factory.assign(self._frozen_items)
            return replace(finished, history_items=None)
        self._edited = self._edited or finished.history_items is not None
        return finished

    def _log(self, index: int) -> CallLog:
        trial = self._schedule[index]
        return self._store.log(index, trial, on_divergence=self._on_divergence, normalise=self._normalise)

    def _snapshot_if_due(self) -> None:
        if self._store.snapshot_due:
            items = self._environment.history_factory.items() if self._edited else None
            snapshot = Snapshot(len(self._store.past), self._callbacks.snapshot(), items)
            self._store.write_snapshot(snapshot)


@contextmanager
def _ending_well(log: CallLog) -> Iterator[None]:
    """What stops a task leaves a log from which it can go on.

    A plug-in that raised may be mended, or the world may be back: the next process serves the log. Where that
    only leads to the same failure, the record is at fault, and the task starts again.
    """
    try:
        yield
    except Divergence:
        log.restart(diverged=True)
        raise
    except (InfrastructureError, RunFolderError):
        raise
    except Exception as error:
        if log.failed_here:
            log.restart()
            raise Divergence("what was recorded leads to the same failure; the task starts again") from error
        log.fail(error)
        error.add_note(
            "answers so far are kept: run the same command again, or with --restart-task to ask anew"
        )
        raise
