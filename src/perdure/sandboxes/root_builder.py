"""Builds root file systems; see `root_fs` for their names."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.sandboxes.helper_process import helper_command, id_mapping
from perdure.sandboxes.root_fs import HOST, READY, RootFileSystem, find_root, root_folder

PACKAGES = [
    "acl",
    "adduser",
    "bc",
    "cron",
    "file",
    "findutils",
    "gawk",
    "iproute2",
    "less",
    "passwd",
    "procps",
    "psmisc",
    "python3",
    "sudo",
    "tree",
    "unzip",
    "vim",
    "zip",
    "zsh",
]
"""Beside the essential ones: what the published tasks of administering a machine call."""

_SUITES = {"debian": ("bookworm", None), "ubuntu": ("noble", "http://archive.ubuntu.com/ubuntu")}
_BUILD_SECONDS = 1800.0


def build_root(name: str = "debian", *, rebuild: bool = False) -> RootFileSystem:
    """Prepare and cache a root file system; one that is there already is returned at once.

    Two processes that ask for the same root build it once. Raises ConfigError, EnvironmentUnavailable.
    """
    if name == HOST:
        return RootFileSystem(HOST, None)
    folder = root_folder(name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        found = find_root(name)
        if found is not None and not rebuild:
            return found
        _remove(folder)
        with root_as_tar(name) as tar:
            _unpack(tar, folder)
        (folder / READY).write_text(f"{name}\n")
    built = find_root(name)
    if built is None:
        raise EnvironmentUnavailable(f"the root file system {name!r} vanished while it was built")
    return built


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # no such module on Windows, where plugins are listed too

    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def root_as_tar(name: str) -> Iterator[Path]:
    """The root as a tar file, made in a folder that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="perdure-root-") as scratch:
        target = Path(scratch) / "root.tar"
        if name.endswith(".tar"):
            target = Path(name).expanduser()
        elif name.startswith("docker:"):
            _export_image(name.removeprefix("docker:"), target)
        else:
            _bootstrap(name, target, Path(scratch))
        yield target


def _bootstrap(name: str, target: Path, scratch: Path) -> None:
    suite, mirror = _SUITES[name]
    archive = [mirror] if mirror else []
    if shutil.which("mmdebstrap"):
        arguments = ["--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(target), *archive]
        _run(["mmdebstrap", "--quiet", *arguments], f"building {name!r}")
    elif shutil.which("debootstrap") and os.geteuid() == 0:
        tree = scratch / "tree"
        arguments = ["--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(tree), *archive]
        _run(["debootstrap", *arguments], f"building {name!r}")
        _run(["tar", "-C", str(tree), "--one-file-system", "-cf", str(target), "."], f"packing {name!r}")
    else:
        raise EnvironmentUnavailable(
            f"building the root file system {name!r} needs mmdebstrap; run: apt-get install mmdebstrap, "
            "or choose the root 'host' or docker:IMAGE"
        )


def _export_image(image: str, target: Path) -> None:
    engine = shutil.which("docker") or shutil.which("podman")
    if engine is None:
        raise EnvironmentUnavailable(f"exporting the image {image!r} needs docker or podman on the path")
    container = _run([engine, "create", image, "true"], f"making a container of {image!r}").strip()
    try:
        _run([engine, "export", "--output", str(target), container], f"exporting {image!r}")
    finally:
        _run([engine, "rm", container], "removing the container")


def _unpack(tar: Path, folder: Path) -> None:
    """Device files are left out: every sandbox gets its own few."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    tree.chmod(0o777)
    unpack = ["tar", "-x", "--numeric-owner", "-p", "--exclude=./dev/*", "--exclude=dev/*", "-f", "-"]
    with tar.open("rb") as stream:
        _run_mapped(unpack, tree, into="fs", stream=stream.fileno())
    tree.chmod(0o755)
    tidy = (
        "mkdir -p dev etc proc tmp root && : > etc/resolv.conf && : > etc/machine-id && rm -f etc/hostname "
        "&& echo '127.0.0.1 localhost sandbox' > etc/hosts"
    )
    _run_mapped(["sh", "-c", tidy], tree, into="fs", stream=subprocess.DEVNULL)


def _remove(folder: Path) -> None:
    if (folder / "tree").is_dir():
        (folder / "tree").chmod(0o777)
        _run_mapped(["rm", "-rf", "fs"], folder / "tree", into="", stream=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


def _run_mapped(argv: list[str], folder: Path, *, into: str, stream: int) -> None:
    setup = {"mapping": asdict(id_mapping()), "folder": str(folder), "into": into, "argv": argv}
    _run(helper_command("mapped_program", setup), f"running {argv[0]} for the root file system", stream)


def _run(argv: list[str], what: str, stream: int = subprocess.DEVNULL) -> str:
    """Standard output of a program. Raises EnvironmentUnavailable with the last line it complained with."""
    try:
        done = subprocess.run(
            argv, stdin=stream, capture_output=True, text=True, errors="replace", timeout=_BUILD_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentUnavailable(f"{what}: not done within {_BUILD_SECONDS:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise EnvironmentUnavailable(f"{what}: {lines[-1]}")
    return done.stdout


def need_root(name: str) -> RootFileSystem:
    """A root for a sandbox: the cached one, or built now. Raises as `build_root`."""
    if name == "":
        raise ConfigError(
            "a root file system needs a name; choose debian, ubuntu, host, docker:IMAGE or a tar"
        )
    return find_root(name) or build_root(name)
