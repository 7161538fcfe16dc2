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
        (
            "dr-xr-xr-x 107 nobody nogroup     0 Nov 30 11:16 proc",
            "dr-xr-xr-x 112 nobody nogroup     0 Dec  1 00:00 proc",
        ),
        (
            "52428800 bytes (52 MB, 50 MiB) copied, 0.00334072 s, 15.7 GB/s",
            "52428800 bytes (52 MB, 50 MiB) copied, 1e-05 s, 900 kB/s",
        ),
        ("Tue Dec  1 02:24:01.5473985610 2026", "Tue Dec  1 02:25:07.5314009360 2026"),
        (
            "      1 root      20   0    3940   3192   2932 S   0.0   0.0   0:00.02 bash",
            "     77 root      20   0    4.1g   3188   2928 R   7.0   0.1  11:10.00 bash",
        ),
        (
            "some avg10=46.00 avg60=36.69 avg300=18.75 total=862",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
        ),
        (
            "30 (cat) R 0 30 30 0 -1 4194304 357 0 0 0 0 0 0 0 20 0 1 0 2142372 2703360 309",
            "31 (cat) R 0 31 31 0 -1 4194304 358 0 0 0 0 0 0 0 20 0 1 0 2148878 2703360 306",
        ),
        (
            " 254       0 vda 669255 123914 33661738 256328 3434545 1285323 95537304 1151174 0 539020 1731",
            " 254       0 vda 1 2 3 4 5 6 7 8 9 10 11",
        ),
        (
            "Node 0, zone   Normal      2      2      1    365   1330    615    199     67    148   3681",
            "Node 0, zone   Normal    196  11258  10299   2972   1583    726    308    110     50      1",
        ),
        ("voluntary_ctxt_switches:\t3", "voluntary_ctxt_switches:\t1"),
        ("      nr_inactive_anon 109607", "      nr_inactive_anon 8"),
        ("118 89 0:43 / / rw,relatime", "7 6 0:44 / / rw,relatime"),
        ("cgroup -> cgroup:[4026532186]", "cgroup -> cgroup:[1]"),
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
        ("drwxr-xr-x 3 root root 0 Nov 30 11:16 proc", "drwxr-xr-x 4 root root 0 Nov 30 11:16 proc"),
        ("dr-xr-xr-x 3 root root 0 Nov 30 11:16 procs", "dr-xr-xr-x 4 root root 0 Nov 30 11:16 procs"),
        ("5242880 bytes copied, 0.1 s, 1 GB/s", "5242881 bytes copied, 0.1 s, 1 GB/s"),
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
        "dr-xr-xr-x 7 a b 0 proc",
        "copied, 1 s, 2 GB/s",
        "some avg10=1 avg60=2 avg300=3 total=4",
        "7 6 0:44 / / ",
        "pid:[12]",
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
        *("dr-xr-xr-x 1 a b 0 ", "Node 0, zone a ", "some avg10=1 ", "1 (a) R ", "copied, 1"),
        *("MemFree: 1 ", "1 2 3 ", "overlay 1 ", "up 3 days, ", "load average: "),
    ],
)
def test_a_long_line_is_read_in_linear_time(unit: str) -> None:
    normalise(unit * (300_000 // len(unit)))
