from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError
from perdure.models.retry import RetryPolicy, read_retry_after

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@given(st.integers(0, 10_000), st.floats(0, 10), st.floats(0, 100))
def test_a_pause_lies_within_the_doubling_ceiling(attempt: int, first: float, longest: float) -> None:
    policy = RetryPolicy(first_pause=first, longest_pause=longest)
    assert 0.0 <= policy.pause(attempt) <= min(longest, first * 2.0 ** min(attempt, 32))


@given(st.integers(0, 20), st.floats(0, 1e6))
def test_a_pause_is_never_shorter_than_the_server_asked(attempt: int, asked: float) -> None:
    assert RetryPolicy().pause(attempt, asked) >= asked


def test_the_jitter_is_full() -> None:
    policy = RetryPolicy(first_pause=1.0)
    pauses = [policy.pause(3) for _ in range(400)]
    assert min(pauses) < 1.0
    assert max(pauses) > 7.0
    assert 3.0 < sum(pauses) / len(pauses) < 5.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("120", 120.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sunday, 01-Mar-26 12:01:00 GMT", 60.0),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_as_delay_and_as_date(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


@given(st.integers(0, 10**6))
def test_a_date_round_trips(seconds: int) -> None:
    date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert read_retry_after(date, NOW) == seconds


@given(st.text())
def test_any_header_is_read_without_a_crash(value: str) -> None:
    seconds = read_retry_after(value, NOW)
    assert seconds is None or seconds >= 0.0


@pytest.mark.parametrize(
    ("parameter", "value"), [("max_retries", -1), ("max_wait_seconds", 0), ("first_pause", float("nan"))]
)
def test_numbers_that_cannot_work_are_named(parameter: str, value: float) -> None:
    with pytest.raises(ConfigError, match=parameter):
        RetryPolicy(**{parameter: value})  # type: ignore[arg-type]
