"""One run in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perdure.core.session import SessionRecord
from perdure.core.types import JSON, SessionStatus
from perdure.metrics.success import wilson_interval
from perdure.metrics.tokens import TokenTotals, add_ledger_line


@dataclass(frozen=True)
class RunSummary:
    """What a table row shows. Counts are sessions; tokens are totals; seconds are wall-clock.

    Ignored sessions are among `sessions`, `statuses` and `outcomes`, and in no rate.
    """

    sessions: int
    correct: int
    interval: tuple[float, float]
    reward: float
    limited: int
    """Sessions that ended at a limit."""
    correct_unlimited: int
    """Correct sessions among those that did not end at a limit."""
    interactions: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    resumes: int = 0
    """Interruptions after which a task went on where it was."""
    restarts: int = 0
    """Fresh starts of a task, the first one left out."""
    divergences: int = 0
    tokens: Mapping[str, TokenTotals] = field(default_factory=dict)
    """Totals by caller, of unfinished tasks and of attempts that were given up too."""
    unaccounted: int = 0
    """Sessions whose ledger line is lost: seconds and tokens are those of the others."""
    unfinished: int = 0
    """Call logs of tasks that were begun and are not committed."""
    damaged: int = 0
    """Lines of call logs that could not be read: their calls may be missing in the totals."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """Sessions whose task could not be posed here, by reason."""
    calls: int = 0
    """Model calls by anybody for finished sessions, retries and attempts that were given up included."""
    malformed: int = 0
    """Replies that did not become an action as they were."""
    fallbacks: int = 0
    """Actions that stood in for such a reply."""
    turns: int = 0
    """Replies that were asked for, retries included."""
    cut: int = 0
    """Replies that ended because they became too long."""
    tolerated: int = 0
    """Replies in which something had to be forgiven."""
    state_updates: int | None = None
    """How often the states of strategies changed; None where there is none."""

    @property
    def counted(self) -> int:
        """Sessions that are not ignored: the denominator of every rate."""
        return self.sessions - sum(self.ignored.values())

    @property
    def rate(self) -> float:
        """Correct sessions among those that count; 0 without any."""
        return self.correct / self.counted if self.counted else 0.0

    @property
    def total_tokens(self) -> TokenTotals:
        """Totals over every caller."""
        return sum(self.tokens.values(), TokenTotals())


def summarise(
    records: Iterable[SessionRecord],
    ledger: Iterable[Mapping[str, JSON]],
    open_tasks: Iterable[Mapping[str, JSON]] = (),
) -> RunSummary:
    """Count everything in one pass over each. `open_tasks` are lines of tasks that are not committed."""
    statuses: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    ignored: Counter[str] = Counter()
    sessions = correct = limited = correct_unlimited = interactions = 0
    reward = 0.0
    replies: Counter[str] = Counter()
    state_updates: int | None = None
    for record in records:
        at_limit = record.status is SessionStatus.TASK_LIMIT_REACHED
        sessions += 1
        correct += record.correct
        limited += at_limit and not record.ignored
        correct_unlimited += record.correct and not at_limit
        interactions += record.interactions
        for name in _REPLIES:
            replies[name] += getattr(record, name)
        if record.state_updates is not None:
            state_updates = (state_updates or 0) + record.state_updates
        reward += record.reward
        statuses[str(record.status)] += 1
        outcomes[str(record.outcome)] += 1
        if record.ignored:
            ignored[record.finish_reason] += 1
    totals = _LedgerTotals()
    for line in ledger:
        totals.add(line)
    accounted, calls = totals.lines, sum(one.calls for one in totals.tokens.values())
    for line in open_tasks:
        totals.add(line)
    return RunSummary(
        sessions,
        correct,
        wilson_interval(correct, sessions - ignored.total()),
        reward,
        limited,
        correct_unlimited,
        interactions,
        dict(statuses),
        dict(outcomes),
        totals.seconds,
        totals.resumes,
        totals.restarts,
        totals.divergences,
        totals.tokens,
        max(0, sessions - accounted),
        totals.lines - accounted,
        totals.damaged,
        dict(ignored),
        calls,
        **{name: replies[name] for name in _REPLIES},
        state_updates=state_updates,
    )


_REPLIES = ("malformed", "fallbacks", "turns", "cut", "tolerated")
"""Counts of a session's record that are added up."""


class _LedgerTotals:
    def __init__(self) -> None:
        self.lines = self.resumes = self.restarts = self.divergences = self.damaged = 0
        self.seconds = 0.0
        self.tokens: dict[str, TokenTotals] = {}

    def add(self, line: Mapping[str, JSON]) -> None:
        self.lines += 1
        self.seconds += line["seconds"]
        self.resumes += line["resumes"]
        self.restarts += line["restarts"]
        self.divergences += line["divergences"]
        self.damaged += line["damaged"]
        add_ledger_line(self.tokens, line)
