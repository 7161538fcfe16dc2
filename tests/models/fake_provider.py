"""A chat-completions server on loopback, for tests: answers as told, records what it was asked.

    with FakeProvider(Answer(status=500), Answer(headers={"Retry-After": "1"}, status=429)) as server:
        list(OpenAICompatibleModel("any", base_url=server.url).generate([request]))
        assert len(server.requests) == 3

The answers given are used up in order; after them comes `then`, by default a completion that echoes the last
message. `then` may also be a function of what was received.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Literal


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Headers
    raw: bytes

    @property
    def body(self) -> Any:
        """The parsed JSON."""
        return json.loads(self.raw)


@dataclass(frozen=True)
class Answer:
    """What to send back: JSON, text or bytes; None echoes the last message as a completion.

    `delay` seconds pass before the answer. `drop` closes the connection instead of answering, or midway
    through the body. `drip` sends the body byte by byte with that many seconds between.
    """

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: Literal["never", "before", "midway"] = "never"
    drip: float = 0.0


def completion(text: str | None, finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion as servers write it; `more` goes beside the choices (usage, …)."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        **more,
    }


def error(message: str, code: str | int | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    """An error body as OpenAI writes it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class FakeProvider:
    """The server; a context manager. `url` ends in `/v1`."""

    def __init__(self, *answers: Answer, then: Answer | Callable[[Received], Answer] = Answer()) -> None:
        self.requests: list[Received] = []
        """Everything received, in order of arrival."""
        self.most_at_once = 0
        """The largest number of requests that were being answered at the same time."""
        self.stopping = Event()
        self._answers: Iterator[Answer] = iter(answers)
        self._then = then
        self._active = 0
        self._lock = Lock()
        self._connections: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FakeProvider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def connected(self, connection: socket.socket) -> Iterator[None]:
        """Keep a connection where closing the server finds it."""
        with self._lock:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)

    @contextmanager
    def receive(self, received: Received) -> Iterator[Answer]:
        """Record a request, choose its answer, and count it as under way meanwhile."""
        with self._lock:
            self.requests.append(received)
            self._active += 1
            self.most_at_once = max(self.most_at_once, self._active)
            answer = next(self._answers, None)
        if answer is None:
            answer = self._then if isinstance(self._then, Answer) else self._then(received)
        try:
            yield answer
        finally:
            with self._lock:
                self._active -= 1


def _handler_of(provider: FakeProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with provider.connected(self.connection), suppress(ConnectionError):
                super().handle()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            received = Received(self.path, self.headers, raw)
            with provider.receive(received) as answer:
                provider.stopping.wait(answer.delay)
                self._send(answer, received)

        def _send(self, answer: Answer, received: Received) -> None:
            if answer.drop == "before":
                self.close_connection = True
                return
            body = _encoded(answer.body, received)
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if answer.drop == "midway":
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            elif answer.drip:
                for position in range(len(body)):
                    self.wfile.write(body[position : position + 1])
                    if provider.stopping.wait(answer.drip):
                        return
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
            """Say nothing."""

    return Handler


def _encoded(body: Any, received: Received) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    if body is None:
        body = completion(received.body["messages"][-1]["content"])
    return json.dumps(body).encode()
