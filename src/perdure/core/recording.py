"""What the loop needs of whatever keeps its results. `perdure.storage` has the one that lasts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from perdure.core.model import CallCharge, CallRecorder
from perdure.core.session import PastSessions, Session
from perdure.core.types import JSON, Observation


class TaskJournal(CallRecorder, Protocol):
    """Records the calls and observations of one task at a time, and serves those of an interrupted one."""

    @property
    def seconds(self) -> float:
        """Time spent on this task, that before an interruption included."""

    def begin(self, index: int, task_id: str, sample: int) -> None:
        """A task begins: take up the record that an interrupted process left, or start a new one."""

    def observe(self, observation: Observation) -> None:
        """Keep an observation, or compare it with the recorded one."""

    def settle(self) -> None:
        """The task is over. Raises Divergence when its record went on."""


class CommittedSessions(PastSessions):
    """Finished sessions, and the lines they were committed as."""

    @abstractmethod
    def lines(self, start: int = 0) -> Iterable[dict[str, JSON]]:
        """Committed lines from `start` on."""


class SessionStore(Protocol):
    """Where finished sessions are committed, one at a time."""

    @property
    def folder(self) -> Path:
        """Where they are, for messages."""

    @property
    def past(self) -> CommittedSessions:
        """What is committed so far."""

    def callback_state(self) -> tuple[dict[str, JSON], list[dict[str, JSON]]]:
        """The newest snapshot and the deltas committed after it."""

    def commit(
        self, session: Session, journal: Any, deltas: Mapping[str, JSON], charges: Iterable[CallCharge]
    ) -> None:
        """Make one finished session durable. `journal` is the store's own kind of TaskJournal."""

    @property
    def snapshot_due(self) -> bool:
        """Whether a full callback state should be written now."""

    def write_snapshot(self, states: Mapping[str, JSON]) -> None:
        """Write the full callback state beside the commits."""

    def write_metrics(self, metrics: Mapping[str, JSON]) -> None:
        """Keep the metrics of the run."""
