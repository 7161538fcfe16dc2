"""A root file system as a tar file that holds a few of this machine's programs and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

PROGRAMS = ("bash", "cat", "cksum", "id", "ls", "mkdir", "rm", "sh", "stat", "touch")
"""Enough for a sandbox to start and to be worked in; no awk, no vi, no python3."""


def poor_root(path: Path, programs: Iterable[str] = PROGRAMS) -> Path:
    """Write the tar file. Skips the test where the machine does not have the programs or `ldd`."""
    files: dict[str, Path] = {}
    for program in programs:
        found = shutil.which(program)
        if found is None or shutil.which("ldd") is None:
            pytest.skip(f"this machine has no {program} or no ldd to copy it with")
        files[f"bin/{program}"] = Path(found).resolve()
        said = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(?:=> |^\t)(/\S+)", said, re.MULTILINE):
            files[library.lstrip("/")] = Path(library).resolve()
    with tarfile.open(path, "w") as tar:
        for folder in ("dev", "proc", "etc", "root", "home", "tmp", "var/tmp", "var/log", "run", "usr/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, file in files.items():
            entry = tar.gettarinfo(str(file), name)
            entry.uid = entry.gid = 0
            with file.open("rb") as content:
                tar.addfile(entry, content)
        link = tarfile.TarInfo("usr/bin/vi")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/alternatives/vi"
        tar.addfile(link)
    return path
