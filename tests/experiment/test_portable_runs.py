"""A run folder given to somebody else: replayed where its sources are gone, packed, unpacked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import RunFolderError, StorageError
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.pack import pack
from perdure.experiment.replay import replay

PERDURE = Path(sys.executable).with_name("perdure")

FILES = {
    "world.py": """
from pathlib import Path
from parts.helper import SUFFIX
from dataclasses import replace
from perdure.environments.counter import CounterEnvironment

class World(CounterEnvironment):
    def __init__(self, tasks: Path, folder: Path):
        super().__init__(tasks=int(tasks.read_text()))
        self.suffix = SUFFIX + (folder / "deep" / "x.txt").read_text()

    def interact(self, action):
        observation = super().interact(action)
        return replace(observation, text=observation.text + self.suffix)
""",
    "parts/__init__.py": "",
    "parts/helper.py": "SUFFIX = '!'\n",
    "model.py": """
def reply(request):
    return "Action: read" if len(request.messages) < 8 else "Action: done"
""",
    "tasks.txt": "3",
    "more/deep/x.txt": "?",
}
CONFIG: dict[str, Any] = {
    "environment": {"name": "world.py:World", "tasks": "tasks.txt", "folder": "more"},
    "models": {"default": {"provider": "scripted", "replies": "model.py:reply"}},
    "callbacks": [{"name": "abort_on_agent_errors"}],
    "probes": {"checkpoints": 1, "tasks": ["0"]},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "project"


def played(project: Path, out: Path) -> perdure.Run:
    config = load_config(CONFIG, values={"execution.out": str(out)})
    with Experiment(config, base=project) as experiment:
        experiment.run()
    return perdure.load(out)


def test_the_sources_are_kept_and_replayed(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "run")
    kept = {path.relative_to(run.folder).as_posix() for path in (run.folder / "plugins").rglob("*.py")}
    assert kept == {
        f"plugins/project/{name}" for name in ("world.py", "parts/__init__.py", "parts/helper.py", "model.py")
    }
    for name in ("world.py", "model.py"):
        (project / name).unlink()
    shutil.rmtree(project / "parts")
    assert replay(run).reproduces
    assert replay(perdure.load(run.folder / "probes" / "00000000")).reproduces


def test_replay_runs_what_lies_in_a_folder_now(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "run")
    assert replay(run, base=project).reproduces
    (project / "parts" / "helper.py").write_text("SUFFIX = '#'\n")
    assert replay(run).reproduces
    assert not replay(run, base=project).reproduces


def test_replay_takes_changes_of_the_configuration(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "run")
    (tmp_path / "other").mkdir()
    (project / "tasks.txt").rename(tmp_path / "other" / "tasks.txt")
    moved = [f"environment.tasks={str(tmp_path / 'other' / 'tasks.txt')!r}"]
    assert replay(run, sets=moved).reproduces
    done = subprocess.run(
        [PERDURE, "replay", str(run.folder), "--set", moved[0]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "3/3 sessions reproduce (12 steps)\n")


def test_a_model_whose_file_is_gone_is_not_needed(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "run")
    (project / "model.py").unlink()
    shutil.rmtree(run.folder / "plugins" / "project" / "__pycache__", ignore_errors=True)
    (run.folder / "plugins" / "project" / "model.py").unlink()
    assert replay(run).reproduces


def test_an_archive_replays_where_nothing_else_is(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "runs" / "mine")
    pack(run, tmp_path / "mine.tar.gz")
    before = list(run.records())
    elsewhere = tmp_path / "elsewhere"
    with tarfile.open(tmp_path / "mine.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(elsewhere)
    shutil.rmtree(project)
    shutil.rmtree(tmp_path / "runs")
    done = subprocess.run(
        [PERDURE, "replay", "mine", "mine/probes/00000003"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine: 3/3 sessions reproduce" in done.stdout
    unpacked = perdure.load(elsewhere / "mine")
    assert list(unpacked.records()) == before
    assert str(tmp_path) not in (elsewhere / "mine" / "config.toml").read_text()
    pack(unpacked, tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == (tmp_path / "mine.tar.gz").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("tasks.txt", "4", "environment.tasks of '.*' is not what it was when the run was played"),
        ("more/deep/x.txt", "!", "environment.folder of '.*' is not what it was"),
        ("tasks.txt", None, "environment.tasks of '.*' is no longer there"),
    ],
)
def test_what_changed_since_is_not_packed(
    project: Path, tmp_path: Path, name: str, content: str | None, expected: str
) -> None:
    run = played(project, tmp_path / "run")
    (project / name).write_text(content) if content is not None else (project / name).unlink()
    with pytest.raises(RunFolderError, match=expected):
        pack(run, tmp_path / "mine.tar.gz")
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".gz", ".tmp")] == []


def test_an_archive_is_not_overwritten(project: Path, tmp_path: Path) -> None:
    run = played(project, tmp_path / "run")
    (tmp_path / "mine.tar.gz").write_text("mine")
    with pytest.raises(StorageError, match="is there already; give another --out"):
        pack(run, tmp_path / "mine.tar.gz")
    assert (tmp_path / "mine.tar.gz").read_text() == "mine"


def test_a_project_with_its_runs_may_be_moved(project: Path, tmp_path: Path) -> None:
    played(project, project / "runs" / "mine")
    project.rename(tmp_path / "moved")
    moved = perdure.load(tmp_path / "moved" / "runs" / "mine")
    assert moved.base == tmp_path / "moved"
    assert replay(moved).reproduces
    resumed = played(tmp_path / "moved", moved.folder)
    assert resumed.hash == moved.hash
