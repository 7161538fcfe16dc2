"""A test that takes too long or too much memory fails by its name, and the others go on."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.memory_limit import LIMIT

ROOT = Path(__file__).parents[1]
CONFTEST = "from tests.memory_limit import *  # noqa: F403\nfrom tests.memory_limit import pytest_configure\n"
INI = """\
[pytest]
timeout = {seconds}
timeout_method = signal
memory_limit = {mib}
addopts = -p no:cacheprovider
"""
SLOW = """\
import subprocess, threading, time

def test_sleeps():
    time.sleep(600)

def test_other():
    pass

def test_spins():
    while True:
        pass

def test_waits_for_a_child():
    subprocess.run(["sleep", "600"])

def test_waits_for_a_thread():
    threading.Event().wait()
"""
GREEDY = """\
import os, subprocess, sys, time

GROW = "import time; held = []\\nwhile True: held.append(bytearray(1 << 22)); time.sleep(0.02)"
SPAWN = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GROW!r}])"

def test_grows():
    exec(GROW)

def test_other():
    pass

def test_swallows():
    try:
        exec(GROW)
    except BaseException:
        pass

def test_child():
    subprocess.run([sys.executable, "-c", GROW])

def test_grandchild():
    subprocess.run([sys.executable, "-c", SPAWN])

def test_shares():  # what many processes share counts once
    held = bytearray(os.urandom(1 << 20) * 100)
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            time.sleep(2)
            os._exit(sum(held[::4096]) * 0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
"""


def outcome(folder: Path, tests: str, *, seconds: int = 40, mib: int = 400) -> str:
    """What pytest says of a file of tests under the limits."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(INI.format(seconds=seconds, mib=mib))
    (folder / "test_inner.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "test_inner.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_limits_of_this_project(request: pytest.FixtureRequest) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    assert (settings["timeout"], settings["memory_limit"]) == (60, "2048")
    assert request.config.stash[LIMIT].is_alive()
    assert request.config.stash[LIMIT].test == request.node.nodeid


def test_tests_that_do_not_end(tmp_path: Path) -> None:
    said = outcome(tmp_path, SLOW, seconds=1)
    assert "4 failed, 1 passed" in said
    for name in ("sleeps", "spins", "waits_for_a_child", "waits_for_a_thread"):
        assert f"FAILED test_inner.py::test_{name} - Failed: Timeout" in said


def test_tests_that_grow(tmp_path: Path) -> None:
    said = outcome(tmp_path, GREEDY)
    assert "4 failed, 2 passed" in said
    for name in ("grows", "swallows", "child", "grandchild"):
        assert f"FAILED test_inner.py::test_{name}" in said
        assert f"test_{name} holds" in said
