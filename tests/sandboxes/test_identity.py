"""Ranges of ids: read from the system's tables, or said what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("table", "holds"),
    [("0 0 4294967295\n", True), ("0 1000 1\n", False), ("0 0 65536\n", False), ("200000 5 65536\n", True)],
)
def test_whether_a_user_namespace_holds_roots_range(tmp_path: Path, table: str, holds: bool) -> None:
    path = tmp_path / "uid_map"
    path.write_text(table)
    assert identity._holds(path) is holds


def test_without_the_mapping_programs_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(identity.NoIdMapping, match="apt-get install uidmap"):
        identity.find_mapping()
