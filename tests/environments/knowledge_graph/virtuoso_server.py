"""A private Virtuoso server from the machine's own package, filled with one graph."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = shutil.which("virtuoso-t")
SHELL = shutil.which("isql-vt")

_CONFIGURATION = """\
[Database]
DatabaseFile = {folder}/v.db
ErrorLogFile = {folder}/v.log
LockFile = {folder}/v.lck
TransactionFile = {folder}/v.trx
xa_persistent_file = {folder}/v.pxa
MaxCheckpointRemap = 2000
[TempDatabase]
DatabaseFile = {folder}/t.db
TransactionFile = {folder}/t.trx
MaxCheckpointRemap = 2000
[Parameters]
ServerPort = {sql_port}
DirsAllowed = {folder}
NumberOfBuffers = 4000
MaxDirtyBuffers = 3000
ServerThreads = 10
[HTTPServer]
ServerPort = {http_port}
ServerRoot = {folder}
[SPARQL]
DefaultGraph = http://perdure.test/graph
"""


@contextmanager
def virtuoso(folder: Path, ntriples: Path) -> Iterator[str]:
    """The URL of the SPARQL endpoint, while the server runs."""
    assert SERVER is not None
    sql_port, http_port = free_port(), free_port()
    configuration = folder / "virtuoso.ini"
    configuration.write_text(_CONFIGURATION.format(folder=folder, sql_port=sql_port, http_port=http_port))
    command = [SERVER, "+foreground", "+configfile", str(configuration)]
    log = (folder / "out.txt").open("wb")
    server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for(http_port, server)
        _load(sql_port, ntriples)
        yield f"http://127.0.0.1:{http_port}/sparql"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("Virtuoso did not start")


def _load(port: int, ntriples: Path) -> None:
    assert SHELL is not None
    statement = (
        f"DB.DBA.TTLP(file_to_string_output('{ntriples}'), '', 'http://perdure.test/graph', 0); checkpoint;"
    )
    done = subprocess.run(
        [SHELL, f"127.0.0.1:{port}", "dba", "dba", f"EXEC={statement}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "Error" not in told
