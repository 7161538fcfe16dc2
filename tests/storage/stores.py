"""Run folders in tests: opened stores, sessions to commit, a callback with a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from perdure.core.callback import Callback, CallbackContext
from perdure.core.recording import FinishedTask
from perdure.core.session import Session
from perdure.core.types import (
    JSON,
    SessionStatus,
    Trial,
)
from perdure.storage.run_reader import RunReader
from perdure.storage.run_store import RunStore
from tests.core.playing import play, step_to_goal


@contextmanager
def opened(folder: Path, snapshot_every: int = 50) -> Iterator[RunStore]:
    with closing(RunStore(folder, snapshot_every=snapshot_every, fsync=False)) as store:
        yield store


def finished_task(store: RunStore, session: Session, **facts: Any) -> FinishedTask:
    """A session without calls, as a controller leaves it."""
    with closing(store.log(session.index, Trial(session.task_id, session.repeat))) as log:
        return FinishedTask(session, log.calls, **{"deltas": {}, "charges": (), "times": log.times, **facts})


def finished(folder: Path, tasks: int = 3) -> RunReader:
    return play(folder, step_to_goal, tasks=tasks)


class Tally(Callback):
    """Keeps the ids of all tasks; tells what it was restored from."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.read = (0, 0)

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        deltas = list(deltas)
        self.read = (len(state or []), len(deltas))
        self.ids = [*(state or []), *deltas]

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        self.ids.append(ctx.session.task_id)
        return ctx.session.task_id

    def snapshot_state(self) -> JSON:
        return self.ids


def ended(task: str, index: int = 0) -> Session:
    session = Session(task, index=index)
    session.finish(SessionStatus.TASK_UNKNOWN_ERROR)
    session.conclude()
    return session
