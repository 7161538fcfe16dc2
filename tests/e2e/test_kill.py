"""SIGKILL at any write, before, in the middle of or after it: the resumed run is the uninterrupted one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.storage import files
from perdure.storage.ledger import rows_of
from tests.e2e.learner import MODEL_LOG, config

KILL_POINTS = 30
"""Of each part."""


def results(folder: Path) -> dict[str, bytes]:
    """Everything that must be identical: sessions, texts, metrics, snapshots."""
    names = ["sessions.jsonl", "blobs/texts.jsonl", "metrics.json", "index.jsonl"]
    files = [*(folder / name for name in names), *sorted((folder / "snapshots").iterdir())]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def is_charged(folder: Path, calls: int) -> bool:
    """Whether the ledger tells of every call that was made; one that a kill cut off is perhaps paid."""
    rows = [row for line in perdure.load(folder).reader.charged() for row in rows_of(line)]
    answered = sum(row.answered == "asked" for row in rows)
    return answered <= calls <= answered + sum(row.answered == "unanswered" for row in rows)


def asked(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def in_child(body: Callable[[], None]) -> int:
    """Run `body` in a forked child; its raw wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            body()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the child must never return into pytest
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(9)
    return os.waitpid(pid, 0)[1]


def die_at_write(number: int, fraction: float) -> None:
    """Make this process SIGKILL itself in its `number`-th write, after `fraction` of its bytes."""
    count = 0
    write_at, replace = files.write_at, os.replace

    def killing_write(descriptor: int, data: bytes, offset: int) -> int:
        nonlocal count
        count += 1
        if count == number:
            write_at(descriptor, data[: int(len(data) * fraction)], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return write_at(descriptor, data, offset)

    def killing_replace(source: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count == number and fraction < 1:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    files.write_at = killing_write
    os.replace = killing_replace  # type: ignore[assignment]


def writes_of(play: Callable[[], object]) -> int:
    """How often a run writes."""
    count = 0
    write_at = files.write_at

    def counting_write(descriptor: int, data: bytes, offset: int) -> int:
        nonlocal count
        count += 1
        return write_at(descriptor, data, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write_at", counting_write)
        play()
    return count


def settings() -> dict[str, Any]:
    """A kill loses nothing that was written, synced or not."""
    found = config()
    found["execution"]["fsync"] = False
    return found


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, bytes], int]:
    """An uninterrupted run: its files, and how often its model was asked."""
    log = tmp_path / "baseline.log"
    monkeypatch.setenv(MODEL_LOG, str(log))
    run = perdure.run(settings(), out=tmp_path / "baseline")
    return results(run.folder), asked(log)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to kill and resume quickly")
@pytest.mark.parametrize("part", range(4))
def test_killed_at_any_write(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, calls = baseline
    writes = writes_of(lambda: perdure.run(settings(), out=tmp_path / "counted"))
    draw = random.Random(20240501 + part)
    killed = 0
    for point in range(KILL_POINTS):
        folder, log = tmp_path / f"run{point}", tmp_path / f"run{point}.log"
        monkeypatch.setenv(MODEL_LOG, str(log))
        number, fraction = draw.randint(1, writes), draw.choice([0.0, 0.3, 0.9, 1.0])

        def doomed(folder: Path = folder, number: int = number, fraction: float = fraction) -> None:
            die_at_write(number, fraction)
            perdure.run(settings(), out=folder)

        status = in_child(doomed)
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        perdure.run(settings(), out=folder)
        assert results(folder) == expected, f"write {number}, {fraction:.0%} of it"
        assert asked(log) <= calls + 1, f"write {number}: more than one call was asked again"
        assert is_charged(folder, asked(log)), f"write {number}: a call is not charged"
    assert killed >= 25


def test_killed_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, calls = baseline
    log, folder = tmp_path / "again.log", tmp_path / "again"
    monkeypatch.setenv(MODEL_LOG, str(log))

    def doomed() -> None:
        die_at_write(8, 0.5)
        perdure.run(settings(), out=folder)

    kills = 0
    while in_child(doomed) == signal.SIGKILL:
        kills += 1
        assert kills < 200, "no progress between kills"
    perdure.run(settings(), out=folder)
    assert kills >= 5
    assert results(folder) == expected
    assert asked(log) <= calls + kills
    assert is_charged(folder, asked(log))


def test_killed_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, _ = baseline
    folder = tmp_path / "outside"
    monkeypatch.delenv(MODEL_LOG)
    root = Path(__file__).parents[2]
    script = (
        "import sys, perdure; from tests.e2e.test_kill import settings; "
        "print('go', flush=True); perdure.run(settings(), out=sys.argv[1])"
    )
    for delay in (0.05, 0.1, 0.15, 0.2):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(folder)], cwd=root, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
    perdure.run(settings(), out=folder)
    assert results(folder) == expected
