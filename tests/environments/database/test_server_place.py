"""A private MariaDB starts wherever the user's temporary and cache folders lie, as root and as anybody."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.core.errors import EnvironmentUnavailable, MissingExtra
from perdure.environments.database.server import place
from perdure.environments.database.server.bootstrap import find_server
from perdure.environments.database.server.link import Link
from perdure.environments.database.server.mariadb import MariadbServer
from perdure.environments.database.server.place import server_place

SOMEBODY = 61_234
"""An id without an account."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may be somebody else")


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that only its owner may enter, with a short name, and the temporary folder below it."""
    with tempfile.TemporaryDirectory(prefix="p", dir="/tmp") as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.chdir(folder)
        yield folder
        monkeypatch.undo()


def give(folder: Path, account: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account, account)


@pytest.mark.parametrize("memory", ["/dev/shm", "/nowhere"])
@pytest.mark.parametrize("account", [None, pytest.param(SOMEBODY, marks=needs_root)])
def test_it_starts_with_private_folders(
    private: Path, monkeypatch: pytest.MonkeyPatch, memory: str, account: int | None
) -> None:
    pytest.importorskip("pymysql")
    try:
        find_server()
    except MissingExtra as absent:
        pytest.skip(str(absent))
    monkeypatch.setattr(place, "_MEMORY", memory)
    if account is not None:
        closed = [folder for folder in Path(__file__).parents if not folder.stat().st_mode & 0o001]
        if closed:
            pytest.skip(f"{str(closed[0])!r} is private: somebody else cannot read the package there")
        give(private, account)
    child = os.fork()
    if child == 0:  # another user for good; everything is imported already
        status = 1
        try:
            if account is not None:
                os.setgroups([])
                os.setresgid(account, account, account)
                os.setresuid(account, account, account)
            server = MariadbServer()
            link = Link(server.address)
            link.run("CREATE DATABASE works")
            link.close()
            server.stop()
            status = 0
        except BaseException as error:  # noqa: BLE001 - told by the parent
            print(error, flush=True)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_root
def test_roots_private_folder_is_no_place_for_nobody(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_MEMORY", "/nowhere")
    nobody = pwd.getpwnam("nobody")
    assert server_place(None) == str(private / "tmp")
    assert server_place(nobody) in ("/tmp", "/var/tmp")


def test_a_place_whose_socket_would_have_no_address_is_passed_over(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = private / ("x" * 80)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(place, "_MEMORY", "/nowhere")
    assert server_place(None) in ("/tmp", "/var/tmp")


def test_no_place_at_all_is_one_line(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_MEMORY", "/nowhere")
    monkeypatch.setattr(place, "_LONGEST", 0)
    with pytest.raises(EnvironmentUnavailable, match=r"no place that we can use; tried /nowhere, .*/tmp"):
        server_place(None)
