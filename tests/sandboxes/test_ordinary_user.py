"""An ordinary user with a range of subordinate ids gets the same sandboxes."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.sandboxes.isolation.identity import COUNT

PROGRAM = """
import sys
sys.path[:0] = {path!r}
from perdure.sandboxes.bubblewrap import BubblewrapSandbox
machine = BubblewrapSandbox(root="host")
script = '''
id -u; touch /f && chown 7:8 /f && stat -c %u:%g /f
date -s 2001-02-03 || echo no clock
mknod /d c 1 1 || echo no device
'''
sys.stdout.buffer.write(machine.exec(script, timeout=20, max_output=1000).output)
machine.close()
"""

TRIAL = "import perdure, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"


def account_with_a_range() -> str | None:
    """Somebody in /etc/subuid who exists, is not root and has a range that is wide enough."""
    table = Path("/etc/subuid")
    for line in table.read_text().splitlines() if table.is_file() else []:
        name, _, span = line.partition(":")
        try:
            wide = int(span.partition(":")[2]) >= COUNT and pwd.getpwnam(name).pw_uid != 0
        except (KeyError, ValueError):
            continue
        if wide:
            return name
    return None


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become somebody else; other tests run as this user"
)
def test_an_ordinary_user_gets_the_same(tmp_path: Path) -> None:
    account = account_with_a_range()
    if account is None or shutil.which("newuidmap") is None:
        pytest.skip("no account of this machine has subordinate ids, or newuidmap is not installed")
    as_user = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups"]
    python = os.path.realpath(sys.executable)
    trial = [*as_user, python, "-c", TRIAL]
    if subprocess.run(trial, cwd="/", env=environment(tmp_path), capture_output=True).returncode:
        pytest.skip(f"{account} cannot read this installation")
    home = pwd.getpwnam(account).pw_dir
    cache = Path(home) / ".cache-perdure-test"
    command = [*as_user, python, "-c", PROGRAM.format(path=sys.path)]
    try:
        done = subprocess.run(
            command, cwd="/", env=environment(cache), capture_output=True, text=True, timeout=60
        )
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("date:", "mknod:"))]
    assert lines[:2] == ["0", "7:8"]
    assert "no clock" in lines
    assert "no device" in lines


def environment(cache: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(cache),
    }
