"""One task being worked on: the only mutable data of the package, changed through its methods.

States (LifelongAgentBench B.1.5, spec/legal transitions):

    initial ──start──▶ running ──observe──▶ running
       │                  ├──observe / finish──▶ completed, agent_validation_failed, task_limit_reached,
       │                  │                      task_environment_error, task_unknown_error
       │                  └──finish──▶ agent_context_limit, agent_out_of_memory, agent_unknown_error
       └──finish──▶ task_environment_error, task_unknown_error, agent_* (a callback gave the task up)

A terminal status changes only when the environment then fails to grade (`fail_grading`). Every session ends
with exactly one outcome other than `unset`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import overload

from perdure.core.errors import ContractBroken, IllegalTransition
from perdure.core.handed_over import evaluation_problem
from perdure.core.types import (
    EPOCH,
    JSON,
    NO_TEXT,
    Completion,
    Evaluation,
    EvaluationOutcome,
    Message,
    Observation,
    Reply,
    SessionStatus,
    Trial,
)
from perdure.core.well_formed import well_formed

__all__ = [
    "EvaluationOutcome",
    "Interaction",
    "PastSession",
    "PastSessions",
    "Rejected",
    "Session",
    "SessionRecord",
    "SessionStatus",
    "shown",
]

_S = SessionStatus
_LEGAL: Mapping[SessionStatus, frozenset[SessionStatus]] = {
    _S.INITIAL: frozenset(
        {
            _S.RUNNING,
            _S.TASK_ENVIRONMENT_ERROR,
            _S.TASK_UNKNOWN_ERROR,
            _S.AGENT_CONTEXT_LIMIT,
            _S.AGENT_OUT_OF_MEMORY,
            _S.AGENT_UNKNOWN_ERROR,
        }
    ),
    _S.RUNNING: frozenset(status for status in _S if status.is_terminal),
}


@dataclass(frozen=True)
class Interaction:
    """One action that reached the environment, and its answer."""

    action: str
    observation: Observation


@dataclass(frozen=True)
class Rejected:
    """The text of a reply that did not become an action, and the one line that says why."""

    reply: str
    error: str


@dataclass(frozen=True)
class SessionRecord:
    """The slim result of one session: what metrics may see. No texts."""

    task_id: str
    repeat: int
    status: SessionStatus
    outcome: EvaluationOutcome
    reward: float
    detail: Mapping[str, float | int | bool | None] = field(default_factory=dict)
    finish_reason: str = ""
    interactions: int = 0
    turns: int = 0
    malformed: int = 0
    """Replies that did not become an action as they were, those before a fallback included."""
    fallbacks: int = 0
    """Actions that were taken in place of a reply that could not be used, after the last retry."""
    cut: int = 0
    """Replies that ended because they became too long."""
    tolerated: int = 0
    """Replies that were read although something in them had to be forgiven, those included that the
    environment tells as `tolerated` in the detail of its evaluation."""
    state_updates: int | None = None
    """How often the state changed that the strategy keeps; None where it keeps none."""
    clock: datetime = EPOCH
    """What the world gave as the present."""

    @property
    def correct(self) -> bool:
        """The grader accepted the result."""
        return self.outcome is EvaluationOutcome.CORRECT

    @property
    def ignored(self) -> bool:
        """The task could not be posed here: it says nothing about the agent and counts in no denominator."""
        return self.outcome is EvaluationOutcome.IGNORED


@dataclass(frozen=True)
class PastSession:
    """A finished session with its texts, read back from the run folder."""

    record: SessionRecord
    goal: str
    history: tuple[Message, ...]
    interactions: tuple[Interaction, ...]
    experience: tuple[str, ...] = ()
    trace: JSON = None
    """What the agent's strategy recorded: patches, counts of failures."""


class PastSessions(Sequence[PastSession], ABC):
    """Finished sessions of a run, oldest first, read when indexed."""

    @abstractmethod
    def records(self) -> Iterator[SessionRecord]:
        """Slim results in order, without reading any text."""


def shown(reply: Reply | None) -> str:
    """What stands in the history for a reply: its text, without what was thought."""
    return reply.text if reply is not None and reply.text.strip() else NO_TEXT


def state_updates_of(trace: JSON) -> int | None:
    """How often a state changed, by what a strategy recorded; None where it keeps none."""
    found = trace.get("state_updates") if isinstance(trace, Mapping) else None
    return found if isinstance(found, int) else None


class NoPastSessions(PastSessions):
    """What a callback without a past sees."""

    def __len__(self) -> int:
        return 0

    @overload
    def __getitem__(self, index: int) -> PastSession: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PastSession]: ...
    def __getitem__(self, index: int | slice) -> PastSession | Sequence[PastSession]:
        if isinstance(index, slice):
            return []
        raise IndexError(index)

    def records(self) -> Iterator[SessionRecord]:
        """None."""
        return iter(())


def check_alternation(messages: Sequence[Message]) -> None:
    """Raise ValueError unless the roles go user, agent, user, … as every chat template expects."""
    for i, message in enumerate(messages):
        expected = "user" if i % 2 == 0 else "agent"
        if message.role != expected:
            raise ValueError(
                f"message {i} of an interaction history must be {expected!r}, not {message.role!r}"
            )


class Session:
    """A task under way: its interaction history, its steps, its status and its verdict."""

    def __init__(self, task_id: str, *, index: int = 0, repeat: int = 0, clock: datetime = EPOCH) -> None:
        self.task_id = task_id
        self.index = index
        """Position in the run, counted from 0."""
        self.repeat = repeat
        """Which repeat of this task."""
        self.clock = clock
        """What the world gives as the present."""
        self.status = SessionStatus.INITIAL
        self.finish_reason = ""
        self.goal = ""
        self.evaluation = Evaluation(EvaluationOutcome.UNSET, 0.0)
        self.turns = 0
        """Inferences so far, skipped, repeated and retried ones included."""
        self.reply: Reply | None = None
        """The reply under way; None between turns."""
        self.note_text = ""
        """What is shown beside the latest observation, until the next one."""
        self.notes: list[tuple[int, str]] = []
        """Every note so far, with how many actions had been answered before it."""
        self.malformed = 0
        """Replies so far that did not become an action as they were."""
        self.fallbacks = 0
        """Actions so far that were taken in place of a reply that could not be used."""
        self.cut = 0
        """Replies so far that ended because they became too long."""
        self.tolerated = 0
        """Replies so far in which something had to be forgiven."""
        self.experience: list[str] = []
        """What learning callbacks want the agent to know; part of every instructions block."""
        self.trace: JSON = None
        """What the agent's strategy recorded of this task."""
        self._history: list[Message] = []
        self._interactions: list[Interaction] = []
        self._rejected: list[Rejected] = []

    # -- reading

    @property
    def trial(self) -> Trial:
        """The entry of the schedule that this session plays."""
        return Trial(self.task_id, self.repeat, self.clock)

    @property
    def history(self) -> tuple[Message, ...]:
        """The interaction history, oldest first; it starts and alternates as user, agent, user, …"""
        return tuple(self._history)

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The actions that reached the environment, with their observations."""
        return tuple(self._interactions)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Replies since the last observation that did not become an action."""
        return tuple(self._rejected)

    def record(self) -> SessionRecord:
        """The slim, frozen result."""
        return SessionRecord(
            self.task_id,
            self.repeat,
            self.status,
            self.evaluation.outcome,
            self.evaluation.reward,
            dict(self.evaluation.detail),
            self.finish_reason,
            len(self._interactions),
            self.turns,
            self.malformed,
            self.fallbacks,
            self.cut,
            self.tolerated + int(self.evaluation.detail.get("tolerated") or 0),
            state_updates_of(self.trace),
            self.clock,
        )

    # -- moving

    def start(self, goal: str, history: Sequence[Message]) -> None:
        """The environment was reset: INITIAL → RUNNING with the opening history."""
        check_alternation(history)
        self._move(SessionStatus.RUNNING)
        self.goal = goal
        self._history = list(history)

    def rewrite_history(self, history: Iterable[Message]) -> None:
        """Replace the interaction history (callbacks do this). Raises ValueError unless roles alternate."""
        messages = list(history)
        check_alternation(messages)
        self._history = messages

    def take_turn(self) -> None:
        """Another inference begins."""
        self.turns += 1

    def receive(self, reply: Reply | str) -> None:
        """A reply arrived, or a callback puts another, or another text, in its place."""
        if isinstance(reply, str):
            text = well_formed(reply)
            reply = Completion(text) if self.reply is None else self.reply.having(text)
        if self.reply is None:
            self.cut += reply.is_cut
        self.reply = reply

    def reject(self, error: str) -> None:
        """The reply under way does not become an action; the model will be asked again with this error."""
        self._rejected.append(Rejected(shown(self.reply), error))
        self.malformed += 1
        self.reply = None

    def fall_back(self) -> None:
        """The reply under way cannot be used, and no retry is left: another action is taken in its place."""
        self.malformed += 1
        self.fallbacks += 1

    def note(self, text: str) -> None:
        """Show a text beside the latest observation, retries included, until the next observation."""
        self.note_text = f"{self.note_text}\n{text}" if self.note_text else text
        self.notes.append((len(self._interactions), text))

    def observe(self, action: str, observation: Observation) -> None:
        """The environment answered. A terminal observation ends the session."""
        if self.status is not SessionStatus.RUNNING:
            raise IllegalTransition(f"session {self.task_id!r} is {self.status}, it cannot observe")
        self._interactions.append(Interaction(action, observation))
        self._history.append(Message("agent", action if self.reply is None else shown(self.reply)))
        if observation.text or not (observation.done or observation.status.is_terminal):
            self._history.append(Message("user", observation.text))
        self._rejected.clear()
        self.reply = None
        self.note_text = ""
        if observation.status is not SessionStatus.RUNNING:
            self.finish(observation.status, observation.reason)
        elif observation.done:
            self.finish(SessionStatus.COMPLETED, observation.reason)

    def finish(self, status: SessionStatus, reason: str = "") -> None:
        """End the session. Raises IllegalTransition if it has ended already or `status` is not terminal."""
        if not status.is_terminal:
            raise IllegalTransition(f"{status!r} does not end a session")
        self._move(status)
        self.finish_reason = reason

    def evaluate(self, evaluation: Evaluation) -> None:
        """The grader's verdict, once, after the session ended. Raises ContractBroken, IllegalTransition."""
        if not self.status.is_terminal:
            raise IllegalTransition(f"session {self.task_id!r} is {self.status}, it cannot be graded yet")
        if self.evaluation.outcome is not EvaluationOutcome.UNSET:
            raise IllegalTransition(f"session {self.task_id!r} has its outcome: {self.evaluation.outcome}")
        if (problem := evaluation_problem(evaluation)) is not None:
            raise ContractBroken(f"the environment graded task {self.task_id!r} with {problem}")
        if evaluation.outcome is EvaluationOutcome.UNSET:
            raise IllegalTransition("an evaluation must have an outcome")
        self.evaluation = evaluation

    def fail_grading(self, reason: str) -> None:
        """The environment could not grade: whatever had ended the session, the task itself has failed."""
        if not self.status.is_terminal:
            raise IllegalTransition(f"session {self.task_id!r} is {self.status}, it cannot be graded yet")
        self.status, self.finish_reason = SessionStatus.TASK_ENVIRONMENT_ERROR, reason

    def conclude(self) -> None:
        """The session is over: it must have ended, and where nobody graded it the outcome is `unknown`."""
        if not self.status.is_terminal:
            raise IllegalTransition(
                f"session {self.task_id!r} is {self.status}: whoever skips RESET must also finish the session"
            )
        if self.evaluation.outcome is EvaluationOutcome.UNSET:
            self.evaluation = Evaluation(EvaluationOutcome.UNKNOWN, 0.0)

    def _move(self, status: SessionStatus) -> None:
        if status not in _LEGAL.get(self.status, frozenset()):
            raise IllegalTransition(f"session {self.task_id!r} cannot go from {self.status} to {status}")
        self.status = status
