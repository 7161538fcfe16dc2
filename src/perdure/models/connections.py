"""Connections to one model server: each is a transport of its own, and the one given back last is lent first.

A pool looks through all of its connections for every request, which is quadratic in their number: 4,000
calls over 256 connections took 36 s, over one connection each 3.4 s. A client around the transport would add
cookies, redirects and credentials to each call, which nobody wants here, and a quarter of a millisecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from socket import SHUT_RDWR
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

from perdure.models.deadlines import Deadlines

if TYPE_CHECKING:
    import httpx

_LARGEST_REPLY = 64 << 20
_CONNECT_SECONDS = 15.0


class ExchangeFailed(Exception):
    """No answer came back whole; asking again may cure it. The message is one line."""


class Unsendable(Exception):
    """A request that no server can be sent."""


@dataclass(frozen=True)
class Answer:
    """What a server sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """As many connections as are used at once, over one TLS context. Safe to share between threads.

    `headers`: sent with every request. `transport`: replaces the network. `proxies`: whether the proxies that
    the environment names are used.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        transport: httpx.BaseTransport | None = None,
        proxies: bool = True,
    ) -> None:
        import httpx

        self._httpx = httpx
        self._tls = httpx.create_ssl_context()
        self._limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        self._given = transport
        self._uses_proxies = proxies
        merged = httpx.Headers({"Accept": "*/*", "User-Agent": f"perdure/{version('perdure')}"})
        merged.update(headers)
        # A few kilobytes, packed twice, unpack to more than the memory holds: none are asked for.
        merged["Accept-Encoding"] = "identity"
        self._headers = merged.raw
        self._addresses: dict[str, httpx.URL] = {}
        self._idle: deque[_Connection] = deque()
        self._deadlines = Deadlines()

    def post(self, url: str, content: bytes, seconds: float) -> Answer:
        """One exchange within so many seconds, whatever the server does meanwhile.

        Raises ExchangeFailed, or Unsendable.
        """
        httpx = self._httpx
        if url not in self._addresses:
            self._addresses[url] = httpx.URL(url)
        with self._lent(self._addresses[url]) as connection:
            try:
                with self._deadlines.within(seconds, connection.cut):
                    return connection.exchange(self._request(url, content, seconds, connection))
            except Exception as error:
                if connection.is_cut or isinstance(error, httpx.TimeoutException):
                    raise ExchangeFailed(f"no complete reply within {seconds:g} s") from error
                if isinstance(error, httpx.LocalProtocolError):
                    raise Unsendable(str(error)) from error
                if isinstance(error, httpx.RequestError):
                    raise ExchangeFailed(f"{type(error).__name__}: {error}") from error
                raise

    def close(self) -> None:
        """Close every connection that is not in use. Idempotent."""
        while self._idle:
            self._idle.pop().transport.close()
        self._deadlines.close()

    @contextmanager
    def _lent(self, address: httpx.URL) -> Iterator[_Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _Connection(self._transport(address))
        try:
            yield connection
        except BaseException:
            connection.transport.close()
            raise
        if connection.is_cut:
            connection.transport.close()
        else:
            self._idle.append(connection)

    def _transport(self, address: httpx.URL) -> httpx.BaseTransport:
        if self._given is not None:
            return self._given
        proxy = proxy_for(address.scheme, address.host) if self._uses_proxies else None
        return self._httpx.HTTPTransport(verify=self._tls, limits=self._limits, proxy=proxy)

    def _request(self, url: str, content: bytes, seconds: float, connection: _Connection) -> httpx.Request:
        timeout = dict.fromkeys(("read", "write", "pool"), seconds)
        timeout["connect"] = min(seconds, _CONNECT_SECONDS)
        return self._httpx.Request(
            "POST",
            self._addresses[url],
            headers=self._headers,
            content=content,
            extensions={"timeout": timeout, "trace": connection.trace},
        )


def proxy_for(scheme: str, host: str) -> str | None:
    """The proxy that the environment names (`HTTPS_PROXY`, `ALL_PROXY`, not for `NO_PROXY`), or None."""
    proxies = getproxies()
    if proxy_bypass(host):
        return None
    found = proxies.get(scheme) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"


class _Connection:
    """A transport of one connection, which another thread can cut.

    The transport's own timeouts begin anew with each piece that arrives: a server that drips would be waited
    for without end.
    """

    def __init__(self, transport: httpx.BaseTransport) -> None:
        self.transport = transport
        self.is_cut = False
        self._stream: Any = None

    def exchange(self, request: httpx.Request) -> Answer:
        with closing(self.transport.handle_request(request)) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.strip().lower() not in ("", "identity"):
                raise ExchangeFailed(
                    f"HTTP {response.status_code} with a body packed as {encoding!r}, which was not asked for"
                )
            chunks, size = [], 0
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > _LARGEST_REPLY:
                    raise ExchangeFailed(f"the reply is larger than {_LARGEST_REPLY >> 20} MiB")
            return Answer(response.status_code, response.headers, b"".join(chunks))

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn the network stream, which httpx hands to whoever traces a request."""
        stream = info.get("return_value")
        if hasattr(stream, "get_extra_info"):
            self._stream = stream
            if self.is_cut:
                self._shut_down()

    def cut(self) -> None:
        """Wake the thread that waits on this connection."""
        self.is_cut = True
        self._shut_down()

    def _shut_down(self) -> None:
        if self._stream is not None:
            with suppress(OSError):
                # Closing would not wake a thread that waits to read.
                self._stream.get_extra_info("socket").shutdown(SHUT_RDWR)
