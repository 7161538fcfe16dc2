"""Servers that never finish, or send more than was asked for: no request outlasts its time or its share."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, repeat
from threading import Event, Thread
from typing import Any

import httpx
import pytest

from perdure.core.errors import ModelUnavailable
from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request
from perdure.models.openai_compatible import OpenAICompatibleModel
from tests.models.fake_provider import Answer, FakeProvider, completion

Serve = Callable[[socket.socket, Event], None]


@contextmanager
def listening(serve: Serve) -> Iterator[str]:
    """The address of a server that treats each connection as `serve` does, until `stopping` is set."""
    stopping = Event()

    def connection(accepted: socket.socket) -> None:
        with accepted, suppress(OSError):
            serve(accepted, stopping)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while not stopping.is_set():
                Thread(target=connection, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        # Inherited by every connection; a large one would hide a reader that is slow.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        Thread(target=accept, args=(listener,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            stopping.set()
            listener.shutdown(socket.SHUT_RDWR)


def dripping(*pieces: bytes) -> Serve:
    """Send the pieces, the last of them again and again."""

    def serve(connection: socket.socket, stopping: Event) -> None:
        for piece in chain(pieces, repeat(pieces[-1])):
            connection.sendall(piece)
            if stopping.wait(0.1):
                return

    return serve


def read_slowly(connection: socket.socket, stopping: Event) -> None:
    while connection.recv(4096) and not stopping.wait(0.1):
        pass


def asked(url: str, text: str = "hello", **parameters: Any) -> Any:
    settings = {"base_url": url, "first_pause": 0.001, "timeout": 0.5, "max_retries": 0, **parameters}
    with closing(OpenAICompatibleModel("m", **settings)) as model:
        return all_outcomes(model, [Request((Message("user", text),))])[0]


@pytest.mark.parametrize(
    "serve",
    [
        dripping(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        dripping(b"H", b"T", b"T", b"P/1.1 200 O", b"K"),
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1", b";a=b"),
        read_slowly,
    ],
    ids=["headers", "status line", "continue", "chunks", "chunk header", "reader"],
)
def test_no_attempt_outlasts_its_time(serve: Serve) -> None:
    with listening(serve) as url:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"gave no answer in 1 attempt; .*within 0\.5 s"):
            asked(url, "x" * (32 << 20) if serve is read_slowly else "hello")
        assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1"]
)
def test_a_wait_ends_on_time_though_the_server_stopped_in_the_middle(head: bytes) -> None:
    def drip_and_stop(connection: socket.socket, stopping: Event) -> None:
        stopping.wait(1.0)
        connection.sendall(head)
        stopping.wait(60)

    with listening(drip_and_stop) as url:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"within 1\.5 s"):
            asked(url, timeout=1.5)
        # A time-out that began anew with the last piece would end after 2.5 s.
        assert 1.4 < time.monotonic() - started < 2.4


def test_no_request_outlasts_the_cap() -> None:
    with listening(dripping(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n")) as url:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable):
            asked(url, timeout=300, max_wait_seconds=0.5, max_retries=100)
        assert time.monotonic() - started < 8


def test_a_proxy_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(dripping(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n")) as url:
        monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1"))
        with pytest.raises(ModelUnavailable, match=r"within 0\.5 s"):
            asked("http://far.example/v1")


def test_a_connection_lost_to_the_deadline_does_not_spoil_the_next_attempt() -> None:
    with FakeProvider(Answer(delay=30)) as server:
        assert isinstance(asked(server.url, max_retries=1), Completion)
    assert len(server.requests) == 2


def test_nothing_packed_is_asked_for_whatever_the_configuration_says() -> None:
    with FakeProvider() as server:
        asked(server.url, headers={"accept-encoding": "gzip"})
    assert server.requests[0].headers.get_all("Accept-Encoding") == ["identity"]


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "GZIP", "br", "identity, deflate"])
def test_a_packed_reply_is_refused_before_it_is_unpacked(encoding: str) -> None:
    bomb = gzip.compress(gzip.compress(bytes(64 << 20)))
    with FakeProvider(then=Answer(bomb, headers={"Content-Encoding": encoding})) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ModelUnavailable, match="HTTP 200 with a body packed as"):
                asked(server.url)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


def test_a_reply_that_says_it_is_not_packed_is_read() -> None:
    with FakeProvider(Answer(completion("plain"), headers={"Content-Encoding": "Identity"})) as server:
        assert asked(server.url).text == "plain"


def test_an_endless_count_of_tokens_is_no_count() -> None:
    body = '{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1e999}}'
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=body))
    assert asked("http://far.example/v1", transport=transport).usage.prompt_tokens == 0
