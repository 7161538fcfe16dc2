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
        (
            " 01:28:27 up  5:01,  0 user,  load average: 0.03, 0.14, 0.12",
            " 11:08:07 up 12 days, 15:01,  2 users,  load average: 10.03, 4.14, 0.12",
        ),
        ("up 5 hours, 1 minute", "up 1 week, 2 days, 7 hours, 10 minutes"),
        ("18412.33 36000.21", "18413.00 36001.99"),
        ("0.03 0.14 0.12 1/123 4567", "1.03 0.14 0.12 2/99 5"),
        ("MemFree:          933280 kB", "MemFree:        22933280 kB"),
        ("Mem:        24633916     1023872", "Mem:        24633916      923872"),
        ("Mem:            23Gi       1.0Gi", "Mem:            23Gi       512Mi"),
        ("cpu  1 2 3 4 5 6 7 8 9 10", "cpu  100 2 3 4 5 6 7 8 9 10"),
        ("procs_running 2\nctxt 99", "procs_running 1\nctxt 12345"),
        ("overlay  123456  1000 122456  1% /", "overlay  123456 99000  24456 80% /"),
        ("overlay    32G  1.0M   32G   1% /", "overlay    32G  512K   32G   1% /"),
        ("cpu MHz\t\t: 2500.000", "cpu MHz\t\t: 3100.112"),
        ("Tasks:   4 total,   1 running", "Tasks:  12 total,   2 running"),
        ("nr_free_pages 5735848", "nr_free_pages 1"),
        ("Device: fe00h/65024d\tInode: 25          Links: 1", "Device: 8,1\tInode: 987654     Links: 1"),
        (
            "    25 drwxr-xr-x 2 root root 4096 Nov 30 11:16 a",
            "123456 drwxr-xr-x 2 root root 4096 Dec  1 00:00 a",
        ),
        ("1796037698123456789", "1796040000000000001"),
        ("1796037698123", "1796040000000"),
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
        ("Total: 5 files", "Total: 6 files"),
        ("1 2 3 4", "1 2 3 5"),
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
        "load average: 0.03, 0.14, 0.12",
        "up 3 days",
        "MemFree:  12 kB",
        "Mem:  12 13",
        "cpu 1 2 3 4",
        "overlay 1 2 3 4% /",
        "25 drwxr-xr-x ",
    ]
)


@given(st.lists(pieces | st.text(max_size=5)).map("".join))
def test_a_second_time_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        *("1", "Nov ", "11:16:", "2026-11-", "a ", " ", "root 1 "),
        *("MemFree: 1 ", "1 2 3 ", "overlay 1 ", "up 3 days, ", "load average: "),
    ],
)
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    normalise(unit * (1_000_000 // len(unit)))
