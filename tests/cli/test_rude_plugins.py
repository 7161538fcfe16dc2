"""Plug-ins that leave the process, or whose messages are hostile: told in readable lines, never a success."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "from perdure.environments.counter import CounterEnvironment\n"
IN_ACTION = """
class Rude(CounterEnvironment):
    def interact(self, action):
        {}
"""
WHEN_BUILT = """
class Rude(CounterEnvironment):
    def __init__(self, *, tasks=3):
        {}
"""
WHEN_IMPORTED = "\n{}\n"
MUTE = """
class Mute(ValueError):
    def __str__(self):
        raise RuntimeError("nothing to say")
    __repr__ = __str__
"""


def perdure(folder: Path, *words: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "perdure", *words]
    return subprocess.run(command, cwd=folder, text=True, timeout=50, **{"capture_output": True, **kwargs})  # type: ignore[call-overload, no-any-return]


def play(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "rude.py").write_text(HEAD + MUTE + code)
    return perdure(
        folder, "run", "counter.toml", "--set", "environment.name=rude.py:Rude", "--out", "run", "-q"
    )


@pytest.mark.parametrize("place", [IN_ACTION, WHEN_BUILT, WHEN_IMPORTED], ids=["action", "built", "imported"])
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("import os; os._exit(0)", 1),
        ("import os; os._exit(7)", 7),
        ("import sys; sys.exit(0)", 1),
    ],
)
def test_who_leaves_the_process_is_told_of(folder: Path, place: str, ending: str, status: int) -> None:
    done = play(folder, place.format(ending))
    expected = 2 if place == WHEN_IMPORTED and "_exit" not in ending else status
    assert done.returncode == expected
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert "os._exit" in done.stderr or "sys.exit" in done.stderr or "SystemExit" in done.stderr


@pytest.mark.parametrize("place", [WHEN_BUILT, WHEN_IMPORTED], ids=["built", "imported"])
def test_an_error_that_cannot_say_what_it_is(folder: Path, place: str) -> None:
    done = play(folder, place.format("raise Mute()"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "(its message cannot be read)" in done.stderr


def test_an_error_that_cannot_say_what_it_is_in_an_action(folder: Path) -> None:
    done = play(folder, IN_ACTION.format("raise Mute()"))
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1, "the plug-in's, and none of ours"
    assert "RuntimeError" not in done.stderr
    assert "answers so far are kept" in done.stderr


HOSTILE = "\\x1b[2Jred\\x07 \\x9b2J \\u202e\\ud800"


@pytest.mark.parametrize(
    "raised",
    [
        f'raise RuntimeError("{HOSTILE}")',
        f'from perdure.core.errors import EnvironmentUnavailable; raise EnvironmentUnavailable("{HOSTILE}")',
        f'raise ExceptionGroup("{HOSTILE}", [ValueError("{HOSTILE}")])',
        f'class E(Exception): pass\n        E.__name__ = "{HOSTILE}"[:8]; raise E("{HOSTILE}")',
    ],
    ids=["bug", "broken", "group", "name"],
)
def test_no_control_character_reaches_the_terminal(folder: Path, raised: str) -> None:
    done = play(folder, IN_ACTION.format(raised))
    assert done.returncode in (1, 2)
    assert "red" in done.stderr
    shown = [c for c in done.stderr + done.stdout if not c.isprintable() and c != "\n"]
    assert shown == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams(folder: Path, closed: str) -> None:
    command = f'"{sys.executable}" -m perdure run counter.toml --out run {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert len((folder / "run" / "sessions.jsonl").read_bytes().splitlines()) == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_without_room_is_one_line(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = perdure(
            folder, "run", "counter.toml", "--out", "run", "-q", capture_output=False, stdout=full,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"
    assert len((folder / "run" / "sessions.jsonl").read_bytes().splitlines()) == 6
