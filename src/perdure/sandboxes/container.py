"""Sandboxes by a container engine that speaks Docker's API: one container each, by the engine's socket.

A container's first process waits for the end of its input, which the engine closes when this process goes
away (StdinOnce): so the container ends, and is removed, however its owner ends.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import tarfile
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from perdure.core.errors import EnvironmentUnavailable
from perdure.core.installation import add_extras, import_optional
from perdure.sandboxes.container_commands import ContainerShell, close_connection, run_fresh
from perdure.sandboxes.isolation.framing import LARGEST
from perdure.sandboxes.limits import Limits, check_bounds
from perdure.sandboxes.root_builder import root_as_tar
from perdure.sandboxes.sandbox import ExecResult

ROOTS = ("debian", "ubuntu")
REPOSITORY = "perdure-root"
LABEL = "perdure.sandbox"

_API_SECONDS = 120.0
# Reads on, one character at a time: a command inside can write to this input, too, but cannot end it.
_FIRST = ["/bin/bash", "-c", "trap '' HUP INT QUIT TERM USR1 USR2; while read -r -n 1; do :; done"]
_CAPABILITIES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "NET_BIND_SERVICE",
    "SYS_CHROOT",
    "AUDIT_WRITE",
    "SETFCAP",
]


class ContainerSandbox:
    """A container of its own; `engine` names the program, `socket` is the address of its API.

    `root` is `debian` or `ubuntu` (an image made of that root file system on first use), or the name of an
    image that the engine has and that holds bash. `ulimits` are set beside those of the limits.
    Raises EnvironmentUnavailable, MissingExtra, ConfigError.
    """

    def __init__(
        self,
        *,
        engine: str,
        socket: str,
        root: str = "debian",
        limits: Limits | None = None,
        persistent_shell: bool = False,
        ulimits: Mapping[str, int] | None = None,
    ) -> None:
        limits = limits or Limits()
        self._ulimits = dict(ulimits or {})
        self._engine = engine
        self._lock = threading.Lock()
        self._flood = limits.flood_bytes
        self._docker = import_optional("docker", "the Docker client", add_extras("docker"))
        _check_socket(engine, socket)
        self._container: str | None = None
        self._lifeline: Any = None
        self._api: Any = None
        self._shell: ContainerShell | None = None
        try:
            with self._engine_errors():
                self._api = self._docker.APIClient(base_url=socket, timeout=_API_SECONDS)
                self._start(self._image(root), limits)
        except BaseException:
            self.close()
            raise
        if persistent_shell:
            self._shell = ContainerShell(self._api, self._id)

    def exec(self, command: str, *, timeout: float, max_output: int) -> ExecResult:
        """Run one bash command; see `sandboxes.sandbox.Sandbox`. A timeout ends what the command started.

        With a persistent shell a timeout ends the shell too, and the next command gets a new one.
        """
        check_bounds(timeout, max_output)
        script = command.replace("\0", "")
        with self._lock, self._engine_errors():
            if self._shell is not None:
                return self._shell.run(script, timeout, max_output, self._flood)
            return run_fresh(self._api, self._id, script, timeout, max_output, self._flood)

    def read_file(self, path: str) -> bytes:
        """Contents of a regular file. Raises FileNotFoundError, OSError."""
        with self._lock, self._engine_errors():
            try:
                stream, facts = self._api.get_archive(self._id, path)
            except self._docker.errors.NotFound:
                raise FileNotFoundError(2, "No such file or directory", path) from None
            if facts["size"] > LARGEST:
                raise OSError(27, f"longer than {LARGEST} bytes", path)
            with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
                file = tar.extractfile(tar.getmembers()[0])
        if file is None:
            raise OSError(22, "not a regular file", path)
        return file.read()

    def write_file(self, path: str, content: bytes) -> None:
        """Create or replace a file, with its folders, owned by root. Raises OSError."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            entry = tarfile.TarInfo(posixpath.normpath(posixpath.join("/", path)).lstrip("/"))
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
        with self._lock, self._engine_errors():
            self._api.put_archive(self._id, "/", buffer.getvalue())

    def close(self) -> None:
        """Remove the container. Idempotent."""
        if self._shell is not None:
            self._shell.close()
        if self._lifeline is not None:
            close_connection(self._lifeline)
            self._lifeline = None
        container, self._container = self._container, None
        try:
            if container is not None:
                self._remove(container)
        finally:
            if self._api is not None:
                self._api.close()

    def _remove(self, container: str) -> None:
        with self._engine_errors(), contextlib.suppress(self._docker.errors.NotFound):
            try:
                self._api.remove_container(container, force=True)
            except self._docker.errors.APIError as error:
                # 409: the engine is removing it already, because its first process has ended.
                if error.response is None or error.response.status_code != 409:
                    raise

    @property
    def _id(self) -> str:
        if self._container is None:
            raise EnvironmentUnavailable("the sandbox is closed")
        return self._container

    def _image(self, root: str) -> str:
        if root not in ROOTS:
            return root
        name = f"{REPOSITORY}:{root}"
        try:
            self._api.inspect_image(name)
        except self._docker.errors.ImageNotFound:
            # By its path: an open file would be announced as chunked, and sent with its length instead.
            with root_as_tar(root) as tar:
                self._api.import_image_from_file(str(tar), repository=REPOSITORY, tag=root)
        return name

    def _start(self, image: str, limits: Limits) -> None:
        host = self._host_config(limits)
        made = self._api.create_container(
            image, _FIRST, stdin_open=True, hostname="sandbox", labels={LABEL: "1"}, host_config=host
        )
        self._container = made["Id"]
        self._lifeline = self._api.attach_socket(self._id, params={"stdin": 1, "stream": 1})
        self._api.start(self._id)

    def _host_config(self, limits: Limits) -> Any:
        """Bounds of the container. The engine has no bound for its whole disk; single files are bounded."""
        ulimits = {
            "cpu": limits.cpu_seconds,
            "fsize": limits.file_bytes,
            "nofile": limits.open_files,
            "core": 0,
            **self._ulimits,
        }
        return self._api.create_host_config(
            network_mode="none",
            auto_remove=True,
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            pids_limit=limits.processes,
            shm_size=limits.shared_memory_bytes,
            cap_drop=["ALL"],
            cap_add=_CAPABILITIES,
            ulimits=[
                self._docker.types.Ulimit(name=name, soft=bound, hard=bound)
                for name, bound in ulimits.items()
            ],
        )

    @contextlib.contextmanager
    def _engine_errors(self) -> Iterator[None]:
        """An engine that fails, or has lost the container, is infrastructure."""
        requests = import_module("requests")
        try:
            yield
        except (self._docker.errors.DockerException, requests.exceptions.RequestException) as error:
            reason = " ".join(str(error).split())
            raise EnvironmentUnavailable(f"{self._engine}: {reason}") from error


def _check_socket(engine: str, address: str) -> None:
    path = address.removeprefix("unix://")
    if path != address and not Path(path).is_socket():
        raise EnvironmentUnavailable(
            f"{engine}: no engine listens at {path!r}; start it, or name its socket in "
            f"{'DOCKER_HOST' if engine == 'docker' else 'CONTAINER_HOST'}"
        )
