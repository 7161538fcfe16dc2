"""The root "host": what is taken from the host, what is our own, and what works in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from perdure.sandboxes.isolation.host_accounts import GROUPS
from perdure.sandboxes.isolation.host_root import Entry, lay, layers, read_host
from perdure.sandboxes.isolation.stage import mounts_below
from tests.sandboxes.availability import need_bubblewrap


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A machine with merged /usr, a private setting, and programs that change who they run as."""
    for folder in (
        "usr/bin",
        "usr/sbin",
        "usr/lib/deep/deeper",
        "usr/local/bin",
        "etc/pam.d",
        "etc/alternatives",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib"):
        (tmp_path / name).symlink_to(f"usr/{name}")
    for path, mode in {
        "usr/bin/plain": 0o755,
        "usr/bin/su": 0o4755,
        "usr/bin/chage": 0o2755,
        "usr/bin/strange": 0o2755,
        "usr/bin/theirs": 0o4755,
    }.items():
        (tmp_path / path).write_text(path)
        (tmp_path / path).chmod(mode)
    (tmp_path / "etc/pam.d/su").write_text("auth sufficient pam_rootok.so\n")
    (tmp_path / "etc/pam.d/secret").write_text("password\n")
    (tmp_path / "etc/pam.d/secret").chmod(0o600)
    (tmp_path / "etc/passwd").write_text("ann:x:1000:1000::/home/ann:/bin/bash\n")
    (tmp_path / "etc/environment").write_text("TOKEN=secret\n")
    (tmp_path / "etc/alternatives/awk").symlink_to("/usr/bin/mawk")
    return tmp_path


def by_path(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries}


def owned(host: Path, path: str, uid: int, gid: int) -> None:
    mode = (host / path).stat().st_mode
    os.chown(host / path, uid, gid)
    (host / path).chmod(mode & 0o7777)


def test_settings_that_not_everybody_may_read_and_people_are_left_out(host: Path) -> None:
    entries = by_path(read_host(str(host)))
    assert entries["etc/pam.d/su"].content.startswith(b"auth")
    assert "etc/pam.d/secret" not in entries
    assert entries["etc/environment"].content == b""
    assert b"ann" not in entries["etc/passwd"].content
    assert entries["etc/alternatives/awk"] == Entry("etc/alternatives/awk", "link", content=b"/usr/bin/mawk")


def test_parents_stand_before_what_they_hold(host: Path) -> None:
    seen: set[str] = set()
    for entry in read_host(str(host)):
        parent = os.path.dirname(entry.path)
        assert not parent or parent in seen, entry.path
        seen.add(entry.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_programs_that_change_who_they_run_as_are_copied_with_groups_by_name(host: Path) -> None:
    (host / "etc/group").write_text("shadow:x:999:\nodd:x:998:\nbroken\n")
    owned(host, "usr/bin/su", 0, 0)
    owned(host, "usr/bin/chage", 0, 999)
    owned(host, "usr/bin/strange", 0, 998)
    owned(host, "usr/bin/theirs", 4321, 0)
    entries = by_path(read_host(str(host)))
    assert (entries["usr/bin/su"].mode, entries["usr/bin/su"].group) == (0o4755, 0)
    assert (entries["usr/bin/chage"].mode, entries["usr/bin/chage"].group) == (0o2755, GROUPS["shadow"])
    absent = ("usr/bin/strange", "usr/bin/theirs", "usr/bin/plain")
    assert [path for path in absent if path in entries] == []


def test_the_tree_is_laid_as_it_was_read(host: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    tree = tmp_path_factory.mktemp("tree")
    entries = [Entry(entry.path, entry.kind, entry.mode, 0, entry.content) for entry in read_host(str(host))]
    lay(entries, str(tree))
    assert os.readlink(tree / "bin") == "usr/bin"
    assert (tree / "tmp").stat().st_mode & 0o7777 == 0o1777
    assert (tree / "root").stat().st_mode & 0o7777 == 0o700
    assert (tree / "usr/lib/deep").is_dir()


def test_programs_lie_in_folders_or_behind_links(host: Path) -> None:
    assert layers(str(host)) == [str(host / "usr")]
    (host / "bin").unlink()
    (host / "bin").mkdir()
    assert layers(str(host)) == [str(host / "usr"), str(host / "bin")]


def test_mounts_below_a_layer_are_found_with_their_real_names() -> None:
    table = (
        b"22 1 8:1 / / rw - ext4 /dev/a rw\n"
        b"23 22 8:2 / /usr rw - ext4 /dev/b rw\n"
        b"24 23 8:3 / /usr/local rw - ext4 /dev/c rw\n"
        b"25 24 8:4 / /usr/local/with\\040space rw - ext4 /dev/d rw\n"
        b"26 22 8:5 / /usrlocal rw - ext4 /dev/e rw\n"
    )
    assert mounts_below(["/usr"], table) == ["/usr/local/with space", "/usr/local"]


@pytest.fixture(scope="module")
def machine() -> Iterator[BubblewrapSandbox]:
    need_bubblewrap()
    sandbox = BubblewrapSandbox(root="host")
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "touch /usr/local/bin/mine /usr/bin/mine && stat -c %U:%G /usr/bin /usr/bin/mine",
            "root:root\nroot:root\n",
        ),
        (
            "for d in /srv /opt /mnt /media /var/{spool,mail,backups}; do touch $d/x || exit; done; echo",
            "\n",
        ),
        ("useradd -m -s /bin/bash -G sudo,users ann && su ann -c 'id -Gn'", "ann sudo users\n"),
        ("echo ann:word | chpasswd && su - ann -c 'passwd -S' | cut -d' ' -f1,2", "ann P\n"),
        ("chage -M 77 ann && grep ^ann: /etc/shadow | cut -d: -f5", "77\n"),
        ("chsh -s /bin/sh ann && grep ^ann: /etc/passwd | cut -d: -f7", "/bin/sh\n"),
        ("echo 'a b' | awk '{print $2}'", "b\n"),
        ("hostname; cat /etc/hostname", "sandbox\nsandbox\n"),
        ("chmod 700 /usr/bin/env || echo not the file of the host", "not the file of the host\n"),
    ],
)
def test_people_administer_it(machine: BubblewrapSandbox, script: str, said: str) -> None:
    result = machine.exec(f"({script}) 2> /tmp/errors", timeout=20, max_output=10_000)
    assert result.output.decode() == said, machine.read_file("/tmp/errors")


def test_nothing_written_reaches_the_host(machine: BubblewrapSandbox) -> None:
    machine.exec("touch /usr/bin/perdure-trace /etc/perdure-trace", timeout=20, max_output=100)
    assert machine.read_file("/usr/bin/perdure-trace") == b""
    assert not Path("/usr/bin/perdure-trace").exists()
    assert not Path("/etc/perdure-trace").exists()
