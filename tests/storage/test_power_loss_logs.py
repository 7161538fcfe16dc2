"""What a power loss leaves of call logs: a fresh start stays one, and what is set aside stays charged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from perdure.storage.call_lines import read_log
from perdure.storage.call_log import CallLog
from tests.storage.logs import make, number
from tests.storage.power_loss import Op, crashes, recording

LOG = Path("0.jsonl")


def log_of(folder: Path, task: str = "t") -> closing[CallLog]:
    return closing(CallLog(folder / LOG, {"task": task}))


def begun(folder: Path) -> None:
    with log_of(folder) as log:
        make(log, "a")


def restarted(folder: Path) -> None:
    begun(folder)
    with log_of(folder) as log:
        log.restart()


def set_aside(folder: Path) -> None:
    begun(folder)
    with log_of(folder, "another") as log:
        make(log, "b")


def is_served(folder: Path) -> bool:
    """The call of before the fresh start is answered from the record."""
    with log_of(folder) as log:
        return number(log, "a").recorded is not None


def is_uncharged(folder: Path) -> bool:
    """Nobody knows any more that the call was made."""
    logs = [read_log(path) for path in folder.glob("*.jsonl")]
    return all(call.digest != "digest of a" for log in logs for call in log.asked)


CASES = [(restarted, is_served, {"0.jsonl"}), (set_aside, is_uncharged, {"0.jsonl", "./"})]


@pytest.fixture
def scratch(tmp_path: Path) -> Callable[[], Path]:
    def fresh() -> Path:
        there = tmp_path / "crashed"
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir()
        return there

    return fresh


@pytest.mark.parametrize(("play", "wrong", "labels"), CASES)
def test_what_was_done_to_a_log_lasts_and_every_sync_of_it_is_needed(
    play: Callable[[Path], None],
    wrong: Callable[[Path], bool],
    labels: set[str],
    tmp_path: Path,
    scratch: Callable[[], Path],
) -> None:
    root = tmp_path / "run"
    root.mkdir()
    with recording(root) as recorder:
        play(root)
        recorder.acknowledge("done", 1)

    def found(ops: list[Op]) -> bool:
        draw = Random(7)
        states = crashes([*ops, *[Op("")] * len(ops)], 150, draw, scratch)
        return any(wrong(left) for left, told in states if "done" in told)

    syncs = [op for op in recorder.ops if op.kind.startswith("sync")]
    assert {op.label.replace("*", "0.jsonl") for op in syncs} == labels
    assert not found(recorder.ops)
    for label in {op.label for op in syncs}:
        assert found([op for op in recorder.ops if op not in syncs or op.label != label]), label
