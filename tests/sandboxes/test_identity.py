"""Ranges of ids: read from the system's tables, or said what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.sandboxes.isolation import identity


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ("ann:100000:65536\n", 100_000),
        ("bob:5:65536\nann:300000:70000\n", 300_000),
        (f"{os.geteuid()}:400000:65536\n", 400_000),
        ("ann:100000:1000\n", None),
        ("anna:100000:65536\n", None),
        ("ann:x:65536\n\nnonsense\nann\n", None),
        ("", None),
    ],
)
def test_the_first_wide_enough_range_of_an_account(tmp_path: Path, table: str, first: int | None) -> None:
    path = tmp_path / "subuid"
    path.write_text(table)
    assert identity._granted(path, "ann") == first


def test_no_table_means_no_range(tmp_path: Path) -> None:
    assert identity._granted(tmp_path / "absent", "ann") is None


EVERY = [(0, 0xFFFF_FFFF)]


@pytest.mark.parametrize(
    ("held", "taken", "first"),
    [
        (EVERY, [], identity.ROOTS_RANGE),
        (EVERY, [(100_000, 165_536), (165_536, 231_072), (231_072, 296_608)], identity.ROOTS_RANGE),
        (EVERY, [(identity.ROOTS_RANGE - 5, identity.ROOTS_RANGE + 1)], identity.ROOTS_RANGE + 1),
        (EVERY, [(identity.ROOTS_RANGE + identity.COUNT - 1, 2_000_000_000)], 2_000_000_000),
        ([(0, 1_000_000)], [(100_000, 165_536)], identity.LOWER_RANGE),
        ([(0, 1_000_000)], [(100_000, 165_536), (165_536, 231_072)], 231_072),
        ([(0, 1_000_000)], [(165_536, 231_072), (231_073, 900_000)], 900_000),
        ([(0, 1_000_000)], [(100_000, 990_000)], None),
        ([(0, 65_536)], [], None),
        ([(0, 1), (1000, 1001)], [], None),
    ],
)
def test_root_takes_the_first_ids_that_nobody_was_granted(
    held: list[tuple[int, int]], taken: list[tuple[int, int]], first: int | None
) -> None:
    assert identity._free([held, EVERY], taken) == first
    assert identity._free([EVERY, held], taken) == first


@given(st.lists(st.tuples(st.integers(0, 4_000_000_000), st.integers(1, 3_000_000_000)), max_size=8))
def test_no_listed_id_is_ever_taken(ranges: list[tuple[int, int]]) -> None:
    taken = [(first, first + count) for first, count in ranges]
    found = identity._free([EVERY, EVERY], taken)
    if found is not None:
        assert all(end <= found or found + identity.COUNT <= first for first, end in taken)


def test_every_range_of_both_tables_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tmp_path / "subuid", tmp_path / "subgid"
    start = identity.ROOTS_RANGE
    tables[0].write_text(f"ann:{start}:65536\nnonsense\nbob:x:1\n::\nann:\u0663:7\n")
    tables[1].write_text(f"root:{start + 65_536}:65536\n")
    monkeypatch.setattr(identity, "TABLES", tables)
    spans = [span for table in tables for span in identity._listed(table)]
    assert spans == [(start, start + 65_536), (start + 65_536, start + 131_072)]
    assert identity._listed(tmp_path / "absent") == []
    if os.geteuid() == 0 and identity._free([identity._held(Path("/proc/self/uid_map"))], spans):
        assert identity.find_mapping().uid == start + 131_072


@pytest.mark.parametrize(
    ("table", "held"),
    [
        ("         0          0 4294967295\n", [(0, 4294967295)]),
        ("0 1000 1\n1 5000 65536\n", [(0, 1), (1, 65_537)]),
    ],
)
def test_the_ids_of_a_user_namespace(tmp_path: Path, table: str, held: list[tuple[int, int]]) -> None:
    path = tmp_path / "uid_map"
    path.write_text(table)
    assert identity._held(path) == held


def test_without_the_mapping_programs_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(identity.NoIdMapping, match="apt-get install uidmap"):
        identity.find_mapping()
