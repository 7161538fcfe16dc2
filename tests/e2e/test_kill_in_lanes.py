"""SIGKILL while 16 lanes ask a server: only open calls are asked again, the files are the serial run's."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import perdure
from perdure.storage.ledger import rows_of
from tests.e2e.pure_server import PureServer, counting
from tests.e2e.test_kill import is_charged, results
from tests.models.fake_provider import FakeProvider

ROOT = Path(__file__).parents[2]
LANES = 16
TASKS = 40


@pytest.fixture
def server() -> Iterator[tuple[PureServer, str]]:
    behind = PureServer(counting)
    with FakeProvider(then=behind.answer) as provider:
        yield behind, provider.url


def settings(url: str, lanes: int) -> dict[str, Any]:
    """A kill loses nothing that was written, synced or not."""
    return {
        "name": "lanes",
        "environment": {"name": "counter", "tasks": TASKS},
        "models": {
            "default": {
                "provider": "openai_compatible",
                "model": "m",
                "base_url": url,
                "max_concurrency": LANES,
            }
        },
        "execution": {"fsync": False, "snapshot_every": 7, "max_parallel": lanes},
    }


@pytest.fixture
def serial(server: tuple[PureServer, str], tmp_path: Path) -> tuple[dict[str, bytes], int]:
    """What an uninterrupted run of one lane writes, and how many calls it takes."""
    behind, url = server
    folder = perdure.run(settings(url, 1), out=tmp_path / "serial").folder
    calls, behind.received, behind.pause = behind.received, 0, 0.03
    return results(folder), calls


SCRIPT = """
import json, sys, perdure
from tests.e2e import test_kill
if int(sys.argv[3]):
    test_kill.die_at_write(int(sys.argv[3]), float(sys.argv[4]))
perdure.run(json.loads(sys.argv[1]), out=sys.argv[2])
"""


def start(url: str, folder: Path, write: int = 0, fraction: float = 0.0) -> subprocess.Popen[bytes]:
    """A process that plays the run; it kills itself in its `write`-th write, if that is not 0."""
    words = [json.dumps(settings(url, LANES)), str(folder), str(write), str(fraction)]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *words], cwd=ROOT)


def open_calls(folder: Path) -> int:
    """Calls that the folder tells as perhaps paid."""
    lines = perdure.load(folder).reader.charged() if (folder / "config.toml").exists() else ()
    return sum(row.answered == "unanswered" for line in lines for row in rows_of(line))


def check_resumed(
    behind: PureServer, url: str, folder: Path, serial: tuple[dict[str, bytes], int], kills: int
) -> None:
    """Finish the run, and compare it with the serial one."""
    expected, calls = serial
    cut_off = open_calls(folder)
    assert cut_off <= LANES * kills
    perdure.run(settings(url, LANES), out=folder)
    assert results(folder) == expected
    assert calls <= behind.received <= calls + cut_off, "only the calls that were open are asked again"
    assert open_calls(folder) == cut_off, "they stay in the ledger, as perhaps paid"
    assert is_charged(folder, behind.received)


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_request(
    server: tuple[PureServer, str], serial: tuple[dict[str, bytes], int], tmp_path: Path, seed: int
) -> None:
    behind, url = server
    draw = random.Random(20261201 + seed)
    last, reached = draw.randint(1, serial[1] - 1), Event()
    behind.on_request = lambda number: reached.set() if number == last else None
    with start(url, tmp_path / "run") as process:
        assert reached.wait(30)
        reached.clear()
        reached.wait(draw.random() * 0.03)
        process.send_signal(signal.SIGKILL)
    check_resumed(behind, url, tmp_path / "run", serial, kills=1)


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_write(
    server: tuple[PureServer, str], serial: tuple[dict[str, bytes], int], tmp_path: Path, seed: int
) -> None:
    behind, url = server
    draw = random.Random(seed)
    write, fraction = draw.randint(1, 2 * serial[1]), draw.choice([0.0, 0.3, 0.9, 1.0])
    with start(url, tmp_path / "run", write, fraction) as process:
        assert process.wait(30) == -signal.SIGKILL
    check_resumed(behind, url, tmp_path / "run", serial, kills=1)


def test_killed_again_and_again(
    server: tuple[PureServer, str], serial: tuple[dict[str, bytes], int], tmp_path: Path
) -> None:
    behind, url = server
    kills = 0
    while True:
        with start(url, tmp_path / "run", 240, 0.5) as process:
            ended = process.wait(30)
        if ended != -signal.SIGKILL:
            break
        kills += 1
    assert ended == 0
    assert kills >= 2
    check_resumed(behind, url, tmp_path / "run", serial, kills)
