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
    restarts: int = 0
    divergences: int = 0
    tokens: Mapping[str, TokenTotals] = field(default_factory=dict)
    """Totals by caller."""
    unaccounted: int = 0
    """Sessions whose ledger line is lost: seconds and tokens are those of the others."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """Sessions whose task could not be posed here, by reason."""

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


def summarise(records: Iterable[SessionRecord], ledger: Iterable[Mapping[str, JSON]]) -> RunSummary:
    """Count everything in one pass over each."""
    statuses: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    ignored: Counter[str] = Counter()
    sessions = correct = limited = correct_unlimited = interactions = 0
    reward = 0.0
    for record in records:
        at_limit = record.status is SessionStatus.TASK_LIMIT_REACHED
        sessions += 1
        correct += record.correct
        limited += at_limit and not record.ignored
        correct_unlimited += record.correct and not at_limit
        interactions += record.interactions
        reward += record.reward
        statuses[str(record.status)] += 1
        outcomes[str(record.outcome)] += 1
        if record.ignored:
            ignored[record.finish_reason] += 1
    tokens: dict[str, TokenTotals] = {}
    seconds, restarts, divergences, accounted = 0.0, 0, 0, 0
    for line in ledger:
        accounted += 1
        seconds += line["seconds"]
        restarts += line["restarts"]
        divergences += line["divergences"]
        add_ledger_line(tokens, line)
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
        seconds,
        restarts,
        divergences,
        tokens,
        max(0, sessions - accounted),
        dict(ignored),
    )
