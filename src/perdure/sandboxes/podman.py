"""Sandboxes by Podman, whose service speaks Docker's API (`podman system service`)."""

from __future__ import annotations

import os

from perdure.sandboxes.container import ContainerSandbox
from perdure.sandboxes.limits import Limits

_ACCOUNT_PROCESSES = 1024
"""Named, because Podman's own default asks for more than a service in a container may have."""


class PodmanSandbox(ContainerSandbox):
    """A Podman container of one's own, by the service at `$CONTAINER_HOST` or its usual socket.

    `root` is `debian`, `ubuntu` or an image. Raises EnvironmentUnavailable, MissingExtra, ConfigError.
    """

    def __init__(
        self, *, root: str = "debian", limits: Limits | None = None, persistent_shell: bool = False
    ) -> None:
        super().__init__(
            engine="podman",
            socket=os.environ.get("CONTAINER_HOST") or default_socket(os.getuid()),
            root=root,
            limits=limits,
            persistent_shell=persistent_shell,
            ulimits={"nproc": _ACCOUNT_PROCESSES},
        )


def default_socket(user: int) -> str:
    """Where the service of a user listens."""
    folder = "/run" if user == 0 else f"/run/user/{user}"
    return f"unix://{folder}/podman/podman.sock"


SANDBOX = PodmanSandbox
