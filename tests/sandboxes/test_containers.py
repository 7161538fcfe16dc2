"""Container sandboxes keep the same contract, on whichever engine this machine runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from perdure.conformance.sandboxes import check_sandbox
from perdure.core.errors import EnvironmentUnavailable, PerdureError
from perdure.sandboxes.container import LABEL, ContainerSandbox
from perdure.sandboxes.docker import DockerSandbox
from perdure.sandboxes.limits import Limits
from perdure.sandboxes.podman import PodmanSandbox, default_socket

ENGINES: dict[str, Any] = {"docker": DockerSandbox, "podman": PodmanSandbox}
ROOM = 10_000


@cache
def missing(engine: str) -> str:
    """Why this engine cannot be used here, or nothing."""
    try:
        ENGINES[engine]().close()
    except PerdureError as problem:
        return str(problem)
    return ""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    reason = missing(request.param)
    if reason:
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture
def machine(engine: str) -> Iterator[ContainerSandbox]:
    made: ContainerSandbox = ENGINES[engine](limits=Limits(processes=100))
    yield made
    made.close()


@pytest.mark.full
@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
def test_it_passes_the_conformance_suite(engine: str, persistent: bool) -> None:
    results = list(check_sandbox(lambda: ENGINES[engine](persistent_shell=persistent)))
    assert [result for result in results if not result.passed] == []


def test_a_command_runs(machine: ContainerSandbox) -> None:
    result = machine.exec("echo out; echo err >&2; (exit 3)", timeout=20, max_output=ROOM)
    assert (result.exit_code, result.output) == (3, b"out\nerr\n")


def test_a_long_script_is_run_to_its_end(machine: ContainerSandbox) -> None:
    script = f"(: <&3) 2> /dev/null || echo closed\ncat\nx='{'x' * 900_000}'\necho ${{#x}}\nexit 5"
    result = machine.exec(script, timeout=20, max_output=ROOM)
    assert (result.exit_code, result.output) == (5, b"closed\n900000\n")


def test_the_first_process_does_not_end_by_what_is_written_to_its_input(machine: ContainerSandbox) -> None:
    script = "echo garbage > /proc/1/fd/0; timeout 0.5 cat /dev/zero > /proc/1/fd/0; kill -9 1; kill 1"
    machine.exec(script, timeout=20, max_output=ROOM)
    result = machine.exec("sleep 0.3; echo alive", timeout=20, max_output=ROOM)
    assert result.output == b"alive\n"


@pytest.mark.full
def test_a_flood_is_contained(machine: ContainerSandbox) -> None:
    flood = machine.exec("yes", timeout=60, max_output=ROOM)
    assert flood.exit_code == 137
    assert b"too much output" in flood.output
    assert machine.exec("echo alive", timeout=30, max_output=ROOM).output == b"alive\n"


@pytest.mark.full
def test_a_shell_that_exits_says_its_code_and_is_replaced(engine: str) -> None:
    machine = ENGINES[engine](persistent_shell=True)
    try:
        machine.exec("cd /etc; kept=yes", timeout=20, max_output=ROOM)
        assert machine.exec('echo "$PWD $kept"', timeout=20, max_output=ROOM).output == b"/etc yes\n"
        left = machine.exec("exit 3", timeout=20, max_output=ROOM)
        assert left.exit_code == 3
        assert b"gets a new one" in left.output
        assert machine.exec("pwd", timeout=20, max_output=ROOM).output == b"/\n"
    finally:
        machine.close()


OWNER = """
import sys, time
from perdure.sandboxes.{engine} import SANDBOX
machine = SANDBOX()
machine.exec("sleep 100 &", timeout=20, max_output=10)
print(machine._id, flush=True)
time.sleep(100)
"""


@pytest.mark.full
def test_a_container_ends_with_its_owner(engine: str) -> None:
    witness = ENGINES[engine]()
    command = [sys.executable, "-c", OWNER.format(engine=engine)]
    try:
        path = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=path) as owner:
            assert owner.stdout is not None
            container = owner.stdout.readline().strip()
            assert container in running(witness)
            owner.kill()
        deadline = time.monotonic() + 20
        while container in running(witness) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert container not in running(witness)
    finally:
        witness.close()


def running(witness: ContainerSandbox) -> set[str]:
    """Ids of the containers that sandboxes have, dead ones included."""
    found = witness._api.containers(all=True, filters={"label": LABEL})
    return {container["Id"] for container in found}


def test_no_engine_is_infrastructure(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker", reason="the docker extra is not installed")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("CONTAINER_HOST", "unix:///nowhere/podman.sock")
    for sandbox in ENGINES.values():
        with pytest.raises(EnvironmentUnavailable, match=r"docker|podman"):
            sandbox()


def test_where_podman_listens() -> None:
    assert default_socket(0) == "unix:///run/podman/podman.sock"
    assert default_socket(1000) == "unix:///run/user/1000/podman/podman.sock"
