"""A machine on which no sandbox can start says in one line what is missing and the command that brings it."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.sandboxes.isolation.refusals import refusal
from tests.sandboxes.availability import need_bubblewrap

START = """
from perdure.core.errors import PerdureError
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
{before}
try:
    BubblewrapSandbox(root="host").close()
except PerdureError as problem:
    print(problem)
else:
    print("started")
"""
FORBID = """
import ctypes, struct
def statement(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)
# Load the number of the system call; unshare (272 on x86-64, 97 on arm64) fails with EPERM, as containers do.
code = b"".join([statement(0x20, 0, 0, 0), statement(0x15, 1, 0, 272), statement(0x15, 0, 1, 97),
                 statement(0x06, 0, 0, 0x00050001), statement(0x06, 0, 0, 0x7FFF0000)])
memory = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HL", len(code) // 8, ctypes.addressof(memory)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
"""


def said(before: str = "", shell: str = "") -> str:
    """The line that a program prints whose sandbox does not start."""
    program = shlex.join([sys.executable, "-c", START.format(before=before)])
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", f"{shell}\nexec {program}"]
    done = subprocess.run(
        command if shell else ["sh", "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return done.stdout


@pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user maps ids by setuid programs, which a filter disarms"
)
def test_where_unshare_is_forbidden_as_in_a_container() -> None:
    need_bubblewrap()
    assert "user namespaces" in said(FORBID)
    assert "sandbox = 'docker'" in said(FORBID)


def test_where_the_number_of_user_namespaces_is_nought() -> None:
    need_bubblewrap()
    line = said(shell="echo 0 > /proc/sys/user/max_user_namespaces; export PATH=/nowhere")
    assert "apt-get install uidmap" in line or "sysctl -w user.max_user_namespaces" in line


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for folder in ("proc/sys/user", "proc/sys/kernel", "run"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/sys/user/max_user_namespaces").write_text("90000\n")
    (tmp_path / "proc/filesystems").write_text("nodev\ttmpfs\nnodev\toverlay\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "content", "code", "is_root", "expected"),
    [
        (
            "proc/sys/user/max_user_namespaces",
            "0",
            errno.ENOSPC,
            True,
            "sysctl -w user.max_user_namespaces=15000",
        ),
        (
            "proc/sys/kernel/unprivileged_userns_clone",
            "0",
            errno.EPERM,
            False,
            "kernel.unprivileged_userns_clone=1",
        ),
        (
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            errno.EACCES,
            False,
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (".dockerenv", "", errno.EPERM, True, "--privileged"),
        ("run/.containerenv", "", errno.EPERM, False, "--privileged"),
        ("unrelated", "", errno.EPERM, True, "sandbox = 'docker'"),
        ("unrelated", "", errno.ENOSPC, True, "sysctl -w user.max_user_namespaces=15000"),
    ],
)
def test_every_refusal_has_its_line(
    machine: Path, file: str, content: str, code: int, is_root: bool, expected: str
) -> None:
    (machine / file).write_text(content)
    line = refusal(f"[Errno {code}] unshare: {os.strerror(code)}", code, "6.1.0", machine, is_root=is_root)
    assert expected in line
    assert "\n" not in line


def test_switches_of_ordinary_users_are_not_blamed_for_roots_troubles(machine: Path) -> None:
    (machine / "proc/sys/kernel/unprivileged_userns_clone").write_text("0")
    (machine / "proc/sys/kernel/apparmor_restrict_unprivileged_userns").write_text("1")
    line = refusal("mount /mnt: Operation not permitted", errno.EPERM, "6.1.0", machine, is_root=True)
    assert "sysctl" not in line


def test_a_kernel_without_overlay_or_too_old(machine: Path) -> None:
    trouble = "bwrap: Can't make overlay mount on /newroot/: No such device"
    assert refusal(trouble, None, "6.1.0", machine, is_root=True) == trouble
    assert "Linux 4.19.0 is too old" in refusal(trouble, None, "4.19.0", machine, is_root=True)
    (machine / "proc/filesystems").write_text("nodev\ttmpfs\n")
    assert "modprobe overlay" in refusal(trouble, None, "6.1.0", machine, is_root=True)


def test_mounts_below_the_hosts_programs_as_an_ordinary_user(machine: Path) -> None:
    line = refusal("'/usr/local' is a mount of its own below …", None, "6.1.0", machine, is_root=False)
    assert "perdure sandbox build debian" in line
