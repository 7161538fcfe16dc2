"""When to ask a server again, and after how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from random import Random

from perdure.models.parameter_checks import check_at_least


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter: each pause is uniform in [0, min(longest, first · 2^attempt)]."""

    max_retries: int = 6
    max_wait_seconds: float = 900.0
    """No request takes longer than this, attempts and pauses together."""
    first_pause: float = 0.5
    longest_pause: float = 60.0
    # Pauses change no result; many processes must not share their sequence.
    random: Random = field(default_factory=Random)

    def __post_init__(self) -> None:
        check_at_least("max_retries", self.max_retries, 0)
        check_at_least("max_wait_seconds", self.max_wait_seconds, 0.001)
        check_at_least("first_pause", self.first_pause, 0)

    def pause(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after failed attempt `attempt` (from 0), at least what the server asked for."""
        ceiling = min(self.longest_pause, self.first_pause * 2.0 ** min(attempt, 32))
        return max(self.random.uniform(0.0, ceiling), retry_after or 0.0)


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for: delay or HTTP-date (RFC 9110, 10.2.3), or None."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(value, now or datetime.now(UTC))
    return max(0.0, seconds) if isfinite(seconds) else None


def _until(date: str, now: datetime) -> float:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return float("nan")
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - now).total_seconds()
