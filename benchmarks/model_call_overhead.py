"""Own CPU of one model call against plain httpx posting the same bytes to the same loopback server.

The server runs in another process and answers with a fixed chat completion, so that process CPU is the
client's alone. Plain httpx is given a body as Python objects and parses the answer. Ours is measured as a
run makes its calls: the prompt is the last one and two messages more; it encodes the body, posts it and
builds the completion. The two alternate; the figure is the median CPU of a call.

    python benchmarks/model_call_overhead.py
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from statistics import median
from threading import Thread

import httpx

from perdure.core.model import all_outcomes
from perdure.core.types import Message, Request
from perdure.models.openai_compatible import OpenAICompatibleModel

TARGET = 1.3
SIZES = (1, 50, 500)
CALLS = 300

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Action: Operation\n```sql\nSELECT 1;\n```"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 700, "completion_tokens": 20, "total_tokens": 720},
    }
).encode()


def serve(ready: Connection) -> None:
    """Answer every request on one keep-alive connection after another with the same bytes."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ready.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            Thread(target=answer, args=(connection, head + REPLY), daemon=True).start()


def answer(connection: socket.socket, response: bytes) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream = connection.makefile("rb")
    while stream.readline():
        length = 0
        while (line := stream.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        stream.read(length)
        connection.sendall(response)


def conversation(size: int) -> tuple[Message, ...]:
    """Alternating turns of about 200 characters, as a database task has them."""
    text = "Think: the table has columns id, name and price; filter, then sort.\nAction: Operation\n"
    return tuple(Message("agent" if i % 2 else "user", f"{i} {text}{text}") for i in range(size))


def cpu_of(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def compare(url: str, size: int) -> tuple[float, float]:
    """Median CPU seconds of a call: ours, plain httpx."""
    ours, plain = [], []
    texts = conversation(size)
    roles = {"user": "user", "agent": "assistant"}
    chat = [{"role": roles[message.role], "content": message.text} for message in texts]
    fields = {"model": "m", "temperature": 0.0, "top_p": 1.0}
    body = {"messages": chat, **fields}
    address = f"{url}/chat/completions"
    with (
        closing(OpenAICompatibleModel("m", base_url=url)) as model,
        httpx.Client(headers={"Content-Type": "application/json"}) as client,
    ):
        for call in range(CALLS):
            last_prompt = texts[:-2]
            new = tuple(Message(message.role, f"{call} {message.text}") for message in texts[-2:])
            request = Request((*last_prompt, *new))
            all_outcomes(model, [Request(last_prompt)])
            ours.append(cpu_of(partial(all_outcomes, model, [request])))
            plain.append(cpu_of(lambda: client.post(address, json=body).json()))
    return median(ours), median(plain)


def main() -> None:
    ready, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(child,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ready.recv()}/v1"
    parts = []
    for size in SIZES:
        ours, plain = compare(url, size)
        parts.append(f"{size} msg {ours * 1e3:.3f} ms / {plain * 1e3:.3f} ms = {ours / plain:.2f}x")
    print(f"model call CPU, ours / plain httpx: {'; '.join(parts)}; target <= {TARGET}x at each size")
    server.terminate()


if __name__ == "__main__":
    main()
