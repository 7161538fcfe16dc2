"""Root file systems: what their names mean, how they are cached, and what is said when one cannot be had."""

from __future__ import annotations

import os
import tarfile
import threading
from pathlib import Path

import pytest

from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from perdure.sandboxes.isolation import identity
from perdure.sandboxes.root_builder import build_root
from perdure.sandboxes.root_fs import find_root, root_folder, roots_folder
from tests.sandboxes.availability import need_bubblewrap


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def working_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache on a machine that can run sandboxes, which is found out with the real one."""
    need_bubblewrap()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def tree_of(name: str, *, rebuild: bool = False) -> Path:
    tree = build_root(name, rebuild=rebuild).tree
    assert tree is not None
    return tree


def test_the_cache_follows_the_xdg_specification(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert roots_folder() == cache / "perdure" / "roots"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert roots_folder() == Path("/home/somebody/.cache/perdure/roots")


@pytest.mark.parametrize("name", ["", "arch", "docker", "debian.zip"])
def test_an_unknown_name_is_refused_with_the_choices(cache: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"debian, ubuntu, host, docker:IMAGE or a \.tar file"):
        find_root(name)


def test_a_tar_file_that_is_not_there_is_refused(cache: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        find_root("/nowhere/root.tar")


def test_names_become_safe_folders(cache: Path) -> None:
    assert root_folder("docker:../../evil").parent == roots_folder()


def test_nothing_is_found_before_it_is_built(cache: Path) -> None:
    assert find_root("debian") is None


def test_a_tar_file_becomes_a_root_once(working_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as tar:
        for name, owner in (("etc", 0), ("etc/mark", 7)):
            entry = tarfile.TarInfo(name)
            entry.uid = entry.gid = owner
            entry.type = tarfile.DIRTYPE if name == "etc" else tarfile.REGTYPE
            entry.mode = 0o755
            tar.addfile(entry)
    built: list[Path] = []
    threads = [threading.Thread(target=lambda: built.append(tree_of(str(path)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(built)) == 1
    mapping = identity.find_mapping()
    assert (built[0] / "etc" / "mark").stat().st_uid == mapping.uid + 7
    before = (built[0] / "etc").stat().st_ino
    assert (tree_of(str(path)) / "etc").stat().st_ino == before
    assert (tree_of(str(path), rebuild=True) / "etc" / "mark").exists()


def test_the_hosts_needs_no_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert build_root("host") == find_root("host")
    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        find_root("debian")


def no_home() -> Path:
    """What Path.home does for an id without an account where HOME is not set."""
    raise RuntimeError("Could not determine home directory.")


def test_a_root_without_a_shell_cannot_start(working_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.tar"
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo("etc")
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    with pytest.raises(EnvironmentUnavailable, match="/bin/bash"):
        BubblewrapSandbox(root=str(path))


def test_a_broken_tar_file_leaves_nothing_that_counts_as_built(working_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.tar"
    path.write_bytes(b"not a tar file" * 1_000)
    with pytest.raises(EnvironmentUnavailable, match="tar"):
        build_root(str(path))
    assert find_root(str(path)) is None


def test_a_missing_builder_is_named_with_the_command(
    working_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentUnavailable, match="apt-get install mmdebstrap"):
        build_root("debian")
    with pytest.raises(EnvironmentUnavailable, match="needs docker or podman"):
        build_root("docker:debian:12")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write any id map")
def test_root_uses_a_range_of_its_own() -> None:
    mapping = identity.find_mapping()
    assert mapping.direct
    assert mapping.uid >= identity.LOWER_RANGE
    for table in identity.TABLES:
        for first, end in identity._listed(table):
            assert end <= mapping.uid or mapping.uid + identity.COUNT <= first
