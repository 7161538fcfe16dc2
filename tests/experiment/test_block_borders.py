"""Blocks of frozen memory: probes and snapshots stand at their borders; probed runs do not grow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.core.errors import RunFolderError
from perdure.experiment.config import ProbesSection, load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.probes import moved_lines, probe_positions, read_probes
from tests.experiment.test_lanes import content, play, remembering, seen


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 20))
def test_every_position_is_the_first_border_from_where_it_would_stand(
    sessions: int, checkpoints: int, block: int
) -> None:
    section = ProbesSection(checkpoints=checkpoints)
    borders = sorted({*range(0, sessions, block), sessions})
    even = probe_positions(section, sessions)
    expected = {min(border for border in borders if border >= position) for position in even}
    assert probe_positions(section, sessions, block) == sorted(expected)
    told = moved_lines(section, 1_000, block, sessions)
    assert len(told) == (sorted(expected) != even)


def test_probes_and_snapshots_move_up_to_the_end_of_a_block(tmp_path: Path) -> None:
    config = remembering(tmp_path, memory_block=5, probes={"checkpoints": 3, "tasks": ["0", "1"]})
    config["execution"]["snapshot_every"] = 3
    one, many = play(tmp_path, config, "one", max_parallel=1), play(tmp_path, config, "many", max_parallel=5)
    probes = read_probes(one)
    assert {position: [session.experience for session in reader] for position, reader in probes.items()} == {
        0: [("0",), ("0",)],
        5: [("5",), ("5",)],
        10: [("10",), ("10",)],
        12: [("12",), ("12",)],
    }
    assert seen(one) == [0] * 5 + [5] * 5 + [10] * 2, "the last block is short"
    assert content(one) == content(many)
    snapshots = [json.loads(path.read_text()) for path in sorted(one.glob("snapshots/*.json"))]
    assert {snapshot["tasks"] for snapshot in snapshots} <= {5, 10, 12}
    assert snapshots


def test_what_moves_is_told_at_the_start(tmp_path: Path) -> None:
    config = remembering(tmp_path, memory_block=5, probes={"checkpoints": 3})
    config["execution"]["snapshot_every"] = 3
    with Experiment(load_config(config), base=tmp_path) as experiment:
        assert experiment.moved == [
            "memory_block = 5: probes after 0, 4, 8, 12 sessions move up to 0, 5, 10, 12",
            "memory_block = 5: snapshots every 3 sessions move up to the end of a block, the first to 5",
        ]
    with Experiment(load_config({**config, "stateless": True}), base=tmp_path) as experiment:
        assert experiment.moved == [], "what remembers nothing has no blocks"
    del config["memory_block"]
    with Experiment(load_config(config), base=tmp_path) as experiment:
        assert experiment.moved == []


def test_a_run_with_probes_does_not_grow(tmp_path: Path) -> None:
    config = remembering(tmp_path, probes={"checkpoints": 2, "tasks": ["0"]})
    folder = play(tmp_path, config, "run", limit=4)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match="has its probes along 4 sessions and cannot go on to 12"):
        play(tmp_path, config, "run")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert play(tmp_path, config, "run", limit=4) == folder, "the same command finds it finished"
    assert len(perdure.load(folder).sessions) == 4
