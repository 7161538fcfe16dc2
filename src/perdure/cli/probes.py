"""Starts one part of this machine for real and says how that went; run as a program by `perdure doctor`.

Nothing is built or downloaded: a sandbox starts on a root that is cached, or else on the host's own.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from perdure.cli.probe_processes import Probed
from perdure.core.errors import MissingExtra, PerdureError
from perdure.core.installation import add_packaged_model, run_command

_ENGINE_SECONDS = 2.0
_COMMAND_SECONDS = 5.0


def sandbox() -> Probed:
    """A bubblewrap sandbox, and a command in it."""
    from perdure.environments.operating_system.machines import resolve_root
    from perdure.sandboxes.bubblewrap import BubblewrapSandbox

    root = resolve_root("bubblewrap", "auto")
    machine = BubblewrapSandbox(root=root)
    try:
        result = machine.exec("echo $((6 * 7))", timeout=_COMMAND_SECONDS, max_output=200)
    finally:
        machine.close()
    answer = result.output.decode("utf-8", "replace").strip()
    if answer != "42":
        return Probed(
            False, f"root {root}: a command answered {answer!r}", "use the docker or podman sandbox"
        )
    return Probed(True, f"root {root}: a command was run in it")


def model() -> Probed:
    """The first token of the packaged model."""
    from perdure.core.errors import ConfigError, ModelUnavailable
    from perdure.core.model import all_outcomes
    from perdure.core.types import Completion, Message, Request
    from perdure.models.local import LocalModel, packaged_weights

    weights = packaged_weights()
    try:
        local = LocalModel(weights, context_window=64, max_tokens=1)
        [outcome] = all_outcomes(local, [Request((Message("user", "Hi"),))])
        local.close()
    except (ConfigError, ModelUnavailable, OSError) as error:
        return Probed(False, str(error), add_packaged_model(again=True))
    if not isinstance(outcome, Completion):
        return Probed(False, str(outcome), add_packaged_model(again=True))
    return Probed(True, f"{weights.name}: it wrote its first token")


def mariadb() -> Probed:
    """A private server, and a statement that it answers."""
    from perdure.core.errors import EnvironmentUnavailable
    from perdure.environments.database.server.link import Link
    from perdure.environments.database.server.mariadb import MariadbServer

    try:
        server = MariadbServer()
    except EnvironmentUnavailable as error:
        return Probed(False, str(error), "sudo apt-get install --reinstall mariadb-server-core")
    try:
        link = Link(server.address)
        version = str(link.run("SELECT VERSION()")[0][0] or "")
        link.close()
    except MissingExtra as missing:
        return Probed(True, f"a private server started; it was not asked: {missing}")
    finally:
        server.stop()
    return Probed(True, f"a private {version} started and answered")


def docker() -> Probed:
    """Docker's engine, by its socket."""
    from perdure.sandboxes.docker import DEFAULT_SOCKET

    joining = "sudo usermod -aG docker $USER, then log in again"
    return _engine(os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET, "sudo apt-get install docker.io", joining)


def podman() -> Probed:
    """Podman's service, by its socket."""
    from perdure.sandboxes.podman import default_socket

    address = os.environ.get("CONTAINER_HOST") or default_socket(os.getuid())
    starting = f"systemctl {'' if os.getuid() == 0 else '--user '}start podman.socket"
    return _engine(address, f"sudo apt-get install podman && {starting}", starting)


def _engine(address: str, getting: str, entering: str) -> Probed:
    """Whether an engine at an address answers `GET /_ping` (Docker Engine API)."""
    if not address.startswith("unix://"):
        return _far_engine(address)
    path = address.removeprefix("unix://")
    if not Path(path).exists():
        return Probed(False, f"no socket at {path}", getting)
    import httpx

    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=path), timeout=_ENGINE_SECONDS) as client:
            answer = client.get("http://engine/_ping")
    except httpx.TimeoutException:
        return Probed(
            False, f"{path}: no answer within {_ENGINE_SECONDS:g} s", f"restart what listens at {path}"
        )
    except httpx.ConnectError as error:
        return Probed(False, f"{path}: {error}", entering)
    except httpx.HTTPError as error:
        return Probed(False, f"{path}: no engine: {error}", f"restart what listens at {path}")
    if answer.text.strip() != "OK":
        said = f"{path}: it answered {answer.status_code} {answer.text[:80]!r}"
        return Probed(False, said, f"restart what listens at {path}")
    return Probed(True, f"{path}: {answer.headers.get('server', 'an engine')} answered")


def _far_engine(address: str) -> Probed:
    """Over TCP or SSH, with certificates as the environment names them: by the client that sandboxes use."""
    try:
        import docker
    except ModuleNotFoundError:
        from perdure.core.installation import add_extras

        raise MissingExtra("the Docker client", add_extras("docker")) from None
    try:
        client = docker.DockerClient(
            **{**docker.utils.kwargs_from_env(), "base_url": address}, timeout=_ENGINE_SECONDS, version="auto"
        )
        client.ping()
        client.close()
    except Exception as error:  # noqa: BLE001 - of the client, requests, paramiko or ssl: all mean the same here
        return Probed(
            False, f"{address}: {error}", "start it, or name another in DOCKER_HOST or CONTAINER_HOST"
        )
    return Probed(True, f"{address}: an engine answered")


PROBES: dict[str, Callable[[], Probed]] = {
    "sandbox": sandbox,
    "model": model,
    "mariadb": mariadb,
    "docker": docker,
    "podman": podman,
}


def probe(name: str) -> Probed:
    """The answer of one probe with its time; whatever goes wrong is an answer. Raises KeyError."""
    begun = time.monotonic()
    try:
        answer = PROBES[name]()
    except MissingExtra as missing:
        return Probed(False, f"{missing.part} is not installed", missing.command)
    except PerdureError as error:
        answer = Probed(False, _line(error), _command_in(str(error)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it says what is wrong with this machine
        answer = Probed(False, f"{type(error).__name__}: {_line(error)}", "see what was found")
    return replace(answer, seconds=round(time.monotonic() - begun, 2))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _command_in(message: str) -> str:
    """The command that an error's last words name, as in `…; run as root: usermod …`."""
    found = re.search(r"\b(?:run|run as root|with): (.+)$", message)
    return re.sub(r"^perdure\b", run_command(), found[1]) if found is not None else "see what was found"


def main() -> None:
    """Answer on the last line of stdout; what libraries print goes to stderr."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        answers.write("\n" + json.dumps(asdict(probe(sys.argv[1]))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
