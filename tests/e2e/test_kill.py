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

import pytest

import perdure
from perdure.storage import files
from tests.e2e.learner import MODEL_LOG, config

KILL_POINTS = 120


def results(folder: Path) -> dict[str, bytes]:
    """Everything that must be identical: sessions, metrics, callback snapshots."""
    files = [folder / "sessions.jsonl", folder / "metrics.json", *sorted((folder / "snapshots").iterdir())]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


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


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, bytes], int]:
    """An uninterrupted run: its files, and how often its model was asked."""
    log = tmp_path / "baseline.log"
    monkeypatch.setenv(MODEL_LOG, str(log))
    run = perdure.run(config(), out=tmp_path / "baseline")
    return results(run.folder), asked(log)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to kill and resume quickly")
def test_killed_at_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, calls = baseline
    draw = random.Random(20240501)
    killed = 0
    for point in range(KILL_POINTS):
        folder, log = tmp_path / f"run{point}", tmp_path / f"run{point}.log"
        monkeypatch.setenv(MODEL_LOG, str(log))
        number, fraction = draw.randint(1, 75), draw.choice([0.0, 0.3, 0.9, 1.0])

        def doomed(folder: Path = folder, number: int = number, fraction: float = fraction) -> None:
            die_at_write(number, fraction)
            perdure.run(config(), out=folder)

        status = in_child(doomed)
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        perdure.run(config(), out=folder)
        assert results(folder) == expected, f"write {number}, {fraction:.0%} of it"
        assert asked(log) <= calls + 1, f"write {number}: more than one call was asked again"
    assert killed >= 100


def test_killed_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, calls = baseline
    log, folder = tmp_path / "again.log", tmp_path / "again"
    monkeypatch.setenv(MODEL_LOG, str(log))

    def doomed() -> None:
        die_at_write(8, 0.5)
        perdure.run(config(), out=folder)

    kills = 0
    while in_child(doomed) == signal.SIGKILL:
        kills += 1
        assert kills < 200, "no progress between kills"
    perdure.run(config(), out=folder)
    assert kills >= 5
    assert results(folder) == expected
    assert asked(log) <= calls + kills


def test_killed_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: tuple[dict[str, bytes], int]
) -> None:
    expected, _ = baseline
    folder = tmp_path / "outside"
    monkeypatch.delenv(MODEL_LOG)
    root = Path(__file__).parents[2]
    script = (
        "import sys, perdure; from tests.e2e.learner import config; "
        "print('go', flush=True); perdure.run(config(), out=sys.argv[1])"
    )
    for delay in (0.05, 0.1, 0.15, 0.2):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(folder)], cwd=root, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
    perdure.run(config(), out=folder)
    assert results(folder) == expected
