"""Observations without times, process ids and random names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.operating_system.normalise import normalise


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Mon Nov 30 11:16:05 UTC 2026", "Tue Dec  1 09:01:59 UTC 2026"),
        ("Mon Nov 30 11:16:05 AM UTC 2026", "Tue Dec  1 09:01:59 PM UTC 2026"),
        ("Mon, 30 Nov 2026 11:16:05 +0000", "Tue, 01 Dec 2026 01:02:03 +0000"),
        ("2026-11-30 11:16:05.123456789 +0000", "2026-12-01 00:00:00.000000001 +0000"),
        ("2026-11-30T11:16:05Z ERROR", "2026-12-01T01:01:01Z ERROR"),
        ("backup_20261130_111605.tar", "backup_20261201_000000.tar"),
        ("-rw-r--r-- 1 root root 40 Nov 30 11:16 f", "-rw-r--r-- 1 root root 40 Dec  1 00:00 f"),
        ("1796037698", "1796040000"),
        ("[1] 1234", "[1] 77"),
        ("started with PID 1234", "started with PID 5"),
        ("/tmp/tmp.Ab3dE5fG7h", "/tmp/tmp.zzzzzzzzzz"),
        ("real\t0m0.002s", "real\t0m1.500s"),
        ("bash: line 1:    12 Killed     sleep 9", "bash: line 1:  7 Killed     sleep 9"),
        (
            "root        17  0.0  0.1   3940  2768 ?        Ss   11:16   0:00 sleep 5",
            "root       923  1.0  0.2   4940  3768 ?        Ss   12:59   0:03 sleep 5",
        ),
        ("   17 ?        00:00:00 sleep", "  923 ?        00:01:07 sleep"),
        ("123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"),
    ],
)
def test_what_differs_between_two_runs_is_masked(first: str, second: str) -> None:
    assert normalise(first) == normalise(second)
    assert normalise(f"before\n{first}\nafter") == normalise(f"before\n{second}\nafter")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("-rw-r--r-- 1 root root 40 Nov 30 11:16 f", "-rw-r--r-- 1 root root 41 Nov 30 11:16 f"),
        ("-rw-r--r-- 1 root root 40 Nov 30 11:16 f", "-rw-r--r-- 1 root root 40 Nov 30 11:16 g"),
        ("total 8", "total 12"),
        ("[exit code 1]", "[exit code 2]"),
        ("3 lines", "4 lines"),
        ("uid=1000(bob) gid=1000(bob)", "uid=1001(bob) gid=1000(bob)"),
        (
            "root 17  0.0  0.1 3940 2768 ? Ss 11:16 0:00 sleep 5",
            "root 17  0.0  0.1 3940 2768 ? Ss 11:16 0:00 sleep 6",
        ),
    ],
)
def test_what_an_action_changes_still_differs(first: str, second: str) -> None:
    assert normalise(first) != normalise(second)


pieces = st.sampled_from(
    [
        "2026-11-30",
        " ",
        "11:16:05",
        "Nov",
        "30",
        "Mon",
        "12",
        ":",
        "pid 7",
        "[1] 2",
        "\n",
        "tmp.abcdefg",
        "20261130",
    ]
)


@given(st.lists(pieces | st.text(max_size=5)).map("".join))
def test_a_second_time_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize("unit", ["1", "Nov ", "11:16:", "2026-11-", "a ", " ", "root 1 "])
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    normalise(unit * (1_000_000 // len(unit)))
