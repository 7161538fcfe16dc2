"""What stops a run leaves a folder that the same command resumes; in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perdure.storage.files import FolderLock
from tests.cli.conftest import Perdure

WORLD = '''
from pathlib import Path

from perdure.environments.counter import CounterEnvironment
from perdure.core.errors import EnvironmentUnavailable


class Fragile(CounterEnvironment):
    """Breaks at task 3 until a file says it is repaired."""

    def reset(self, trial):
        if trial.task_id == "3" and not Path("repaired").exists():
            raise EnvironmentUnavailable("the server is gone")
        return super().reset(trial)
'''

HELD = """
import time
from pathlib import Path


def reply(request):
    sessions = Path("out/sessions.jsonl")
    while Path("hold").exists() and sessions.read_text().count("\\n") >= 1:
        Path("holding").touch()
        time.sleep(0.02)
    return "Action: read"
"""

BUG = '''
from perdure import Callback


class Buggy(Callback):
    """Divides by zero."""

    def on_environment_reset(self, ctx):
        1 / 0
'''


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from perdure.cli.main import main; main()", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_infrastructure_error_then_resume(folder: Path) -> None:
    (folder / "world.py").write_text(WORLD)
    arguments = ["run", "counter.toml", "--set", "environment.name=world.py:Fragile", "--out", "out", "-q"]
    broken = command(folder, *arguments, "--no-floors")
    assert broken.returncode == 1
    assert broken.stderr == (
        "error: the server is gone; nothing finished is lost: the same command resumes 'out'\n"
    )
    assert len((folder / "out" / "sessions.jsonl").read_text().splitlines()) == 3
    unfinished = command(folder, "report", "out")
    assert "3/6 unfinished" in unfinished.stdout
    (folder / "repaired").touch()
    resumed = command(folder, *arguments)
    assert resumed.returncode == 0, resumed.stderr
    assert len((folder / "out" / "sessions.jsonl").read_text().splitlines()) == 6


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_then_resume(folder: Path, stop: signal.Signals, code: int) -> None:
    (folder / "model.py").write_text(HELD)
    (folder / "hold").touch()
    config = folder / "counter.toml"
    config.write_text(
        config.read_text().replace('["Action: done"]', '"model.py:reply"').replace("cycle = true", "")
    )
    arguments = ["run", "counter.toml", "--set", "agent.kind=model", "--out", "out", "-q"]
    running = subprocess.Popen(
        [sys.executable, "-c", "from perdure.cli.main import main; main()", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    sessions = folder / "out" / "sessions.jsonl"
    deadline = time.monotonic() + 300
    # Not as soon as the first line is there: a commit that is interrupted before its fsync is taken back.
    while not (folder / "holding").exists():
        assert running.poll() is None, "the run ended before it could be interrupted"
        assert time.monotonic() < deadline, "two tasks take longer than any machine needs"
        time.sleep(0.02)
    running.send_signal(stop)
    _, stderr = running.communicate(timeout=300)
    assert running.returncode == code
    assert stderr == "interrupted; nothing finished is lost: the same command resumes 'out'\n"
    assert len(sessions.read_text().splitlines()) == 1
    (folder / "hold").unlink()
    resumed = command(folder, *arguments)
    assert resumed.returncode == 0, resumed.stderr
    assert len(sessions.read_text().splitlines()) == 6


def test_a_bug_keeps_the_part_of_its_traceback_that_matters(folder: Path) -> None:
    (folder / "buggy.py").write_text(BUG)
    result = command(folder, "run", "counter.toml", "-q", "--set", 'callbacks=[{name="buggy.py:Buggy"}]')
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "ZeroDivisionError: division by zero" in lines
    files = [line for line in lines if line.startswith("  File ")]
    assert "buggy.py" in files[-1]
    assert "1 / 0" in result.stderr
    assert any("controller.py" in line for line in files)
    assert not any("typer" in line or "contextlib" in line for line in files)
    assert len(files) < 16


def test_a_run_folder_in_use_is_refused(perdure: Perdure, folder: Path) -> None:
    lock = FolderLock(folder / "out")
    result = perdure("run", "counter.toml", "-q", "--out", "out")
    lock.release()
    assert result.exit_code == 2
    assert result.stderr == "error: run folder 'out' is in use by another process\n"
    assert perdure("run", "counter.toml", "-q", "--out", "out").exit_code == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="has no folder that nobody can write to")
def test_a_folder_that_cannot_be_written(perdure: Perdure) -> None:
    result = perdure("run", "counter.toml", "-q", "--out", "/proc/below")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot write '/proc/below/.lock'")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="uses a POSIX pipe")
def test_a_closed_pipe_is_quiet(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        result = subprocess.run(
            [sys.executable, "-c", "from perdure.cli.main import main; main()", "list"],
            cwd=folder,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    finally:
        os.close(write)
    assert result.stderr == ""
    assert result.returncode == 141


def test_help_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys\n"
        "from perdure.cli.main import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'pydantic', 'httpx', 'sqlglot', 'pandas', 'xllamacpp', 'perdure.experiment.experiment'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "loaded: []" in result.stdout, result.stdout + result.stderr
    for name in ("quickstart", "run", "report", "replay", "doctor", "list", "check", "new"):
        assert name in result.stdout


def test_the_console_script_is_installed() -> None:
    script = Path(sys.executable).with_name("perdure")
    result = subprocess.run([str(script), "--version"], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0
    assert result.stdout.startswith("perdure ")
