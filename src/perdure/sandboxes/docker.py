"""Sandboxes by Docker."""

from __future__ import annotations

import os

from perdure.sandboxes.container import ContainerSandbox
from perdure.sandboxes.limits import Limits

DEFAULT_SOCKET = "unix:///var/run/docker.sock"


class DockerSandbox(ContainerSandbox):
    """A Docker container of one's own, by the engine at `$DOCKER_HOST` or its usual socket.

    `root` is `debian`, `ubuntu` or an image. Raises EnvironmentUnavailable, MissingExtra, ConfigError.
    """

    def __init__(
        self, *, root: str = "debian", limits: Limits | None = None, persistent_shell: bool = False
    ) -> None:
        super().__init__(
            engine="docker",
            socket=os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET,
            root=root,
            limits=limits,
            persistent_shell=persistent_shell,
        )


SANDBOX = DockerSandbox
