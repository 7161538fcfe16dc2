"""One deadline over everything that an attempt waits for.

The HTTP client's timeouts begin anew with each piece that arrives, so a server that sends its headers a few
bytes at a time is waited for without end. Here each wait on a connection gets only what is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from math import inf
from ssl import SSLContext
from threading import local
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx
    from httpcore import SOCKET_OPTION, NetworkBackend, NetworkStream

_PIECE = 256 << 10
"""Bytes written under one timeout: a reader that takes a few at a time is not waited for either."""


class AttemptDeadline(local):
    """When the calling thread's attempt ends, in monotonic seconds; each thread has its own."""

    ends = inf

    def left(self, timeout: float | None) -> float:
        """Seconds that a wait may take, at most `timeout`. Raises httpcore.ReadTimeout when none are left."""
        left = self.ends - time.monotonic()
        if left <= 0:
            from httpcore import ReadTimeout

            raise ReadTimeout("the attempt's time is over")
        return left if timeout is None else min(timeout, left)


def enforce(deadline: AttemptDeadline, client: httpx.Client) -> None:
    """Put every connection that this client will open, directly or through a proxy, under the deadline.

    httpx has no parameter for httpcore's network backend, hence the private names. A transport without a
    connection pool has no network to wait for.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Network(pool._network_backend, deadline)


class _Network:
    """A network backend of httpcore."""

    def __init__(self, inner: NetworkBackend, deadline: AttemptDeadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> _Stream:
        left = self._deadline.left(timeout)
        stream = self._inner.connect_tcp(host, port, left, local_address, socket_options)
        return _Stream(stream, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream:
    """A network stream of httpcore."""

    def __init__(self, inner: NetworkStream, deadline: AttemptDeadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self.close = inner.close
        self.get_extra_info = inner.get_extra_info

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            piece = buffer[start : start + _PIECE]
            self._inner.write(piece, self._deadline.left(timeout))

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        left = self._deadline.left(timeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)
