"""MySQL in a container of its own, through the Docker socket."""

from __future__ import annotations

import secrets
import ssl
import sys
import time
from typing import Any

from perdure.core.errors import EnvironmentUnavailable
from perdure.core.installation import add_extras, import_optional
from perdure.environments.database.server.address import Address
from perdure.environments.database.server.link import MODE, Link, knock

IMAGE = "mysql:8.4"
_PORT = "3306/tcp"
_START_SECONDS = 180.0
_KEEPER = f"docker-entrypoint.sh mysqld --sql-mode={MODE} --skip-name-resolve & read -r _; kill -9 $!"
"""Holds the server and reads what we are attached to: when we are gone, however, the container ends."""


class MysqlContainer:
    """A running container of `image`; `stop` removes it. Needs a Docker that runs on this machine.

    Raises MissingExtra without the client library, EnvironmentUnavailable when Docker or the image is absent.
    """

    def __init__(self, image: str = IMAGE) -> None:
        docker = import_optional("docker", "the Docker client", add_extras("docker", "mysql"))
        self._errors = (docker.errors.DockerException, OSError)
        self._container: Any = None
        self._attached: Any = None
        try:
            _find_docker(docker)
            self._client = docker.from_env()
            self._have_image(image, docker.errors.ImageNotFound)
            self.address = self._start(image)
        except self._errors as error:
            self.stop()
            raise EnvironmentUnavailable(f"Docker engine {image}: {_first_line(error)}") from None
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove the container. Idempotent."""
        attached, self._attached = self._attached, None
        container, self._container = self._container, None
        if attached is not None:
            attached.close()
        if container is not None:
            try:
                container.remove(force=True, v=True)
            except self._errors:
                return  # it removes itself once nobody is attached

    def _have_image(self, image: str, absent: type[Exception]) -> None:
        try:
            self._client.images.get(image)
        except absent:
            self._client.images.pull(image)

    def _start(self, image: str) -> Address:
        password = secrets.token_urlsafe(18)
        self._container = self._client.containers.create(
            image,
            entrypoint=["/bin/sh", "-c", _KEEPER],
            environment={"MYSQL_ROOT_PASSWORD": password, "MYSQL_ROOT_HOST": "%"},
            stdin_open=True,
            auto_remove=True,
            ports={_PORT: ("127.0.0.1", None)},
            tmpfs={"/var/lib/mysql": "size=2g"},
            mem_limit="2g",
            pids_limit=512,
            labels={"perdure": "database"},
        )
        self._attached = self._container.attach_socket(params={"stdin": 1, "stream": 1})
        self._container.start()
        self._container.reload()
        bound = self._container.attrs["NetworkSettings"]["Ports"][_PORT][0]
        return Address("root", password, "127.0.0.1", int(bound["HostPort"]), tls=_own_certificate())

    def _wait(self) -> None:
        """Until the server takes our account; it restarts once while it prepares its data."""
        limit = time.monotonic() + _START_SECONDS
        while True:
            try:
                Link(self.address).close()
            except EnvironmentUnavailable as problem:
                if time.monotonic() > limit or not self._runs():
                    raise EnvironmentUnavailable(f"the container did not start: {problem}") from None
                time.sleep(0.25)
            else:
                return

    def _runs(self) -> bool:
        try:
            self._container.reload()
        except self._errors:
            return False
        return bool(self._container.status == "running")


def _find_docker(docker: Any) -> None:
    """Raise OSError when nobody listens: the client would leave its half-made socket open."""
    address = docker.utils.parse_host(docker.utils.kwargs_from_env().get("base_url"), sys.platform == "win32")
    if "unix://" in address:
        knock(address.partition("unix://")[2])


def _own_certificate() -> ssl.SSLContext:
    """MySQL's default login wants TLS, and its certificate is made at its first start: nobody signed it.

    The traffic does not leave the machine.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
