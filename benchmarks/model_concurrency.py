"""Many threads asking one model over loopback: wall time, CPU of a call, and how many were under way at once.

The server, in a process of its own, answers each request 0.2 s after it arrived. Each thread makes its calls
one after the other, as a lane does; the model bounds what is under way at once. The limit is what the latency
alone takes: calls / connections x 0.2 s.

    python benchmarks/model_concurrency.py
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from contextlib import closing
from multiprocessing.connection import Connection
from statistics import median
from threading import Thread

from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request
from perdure.models.openai_compatible import OpenAICompatibleModel

LATENCY = 0.2
CALLS = 5
TARGET_CPU = 1.6e-3
CASES = ((200, 64, 4.5), (512, 256, 4.5))
"""Threads, connections, and the seconds to reach."""

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Action: add 3"}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 700, "completion_tokens": 20, "total_tokens": 720}
REPLY = json.dumps(
    {
        "id": "c-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [CHOICE],
        "usage": USAGE,
    }
).encode()
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY) + REPLY
)


class Answering(asyncio.Protocol):
    """One connection: a request is whole when its body is, and is answered after the latency."""

    under_way = 0
    most = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        if head.startswith(b"GET"):
            most = str(Answering.most).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(most), most))
            self._received, Answering.most = b"", 0
            return
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(body) == length:
            self._received = b""
            Answering.under_way += 1
            Answering.most = max(Answering.most, Answering.under_way)
            asyncio.get_running_loop().call_later(LATENCY, self._answer)

    def _answer(self) -> None:
        Answering.under_way -= 1
        self._transport.write(RESPONSE)


def serve(ready: Connection) -> None:
    """Serve on loopback until the process is ended."""

    async def listen() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


def measure(port: int, threads: int, connections: int) -> tuple[float, float, int]:
    """Seconds of all calls, CPU seconds of one, and the most requests that were under way at once."""
    request = Request((Message("system", "You count. " * 100), Message("user", "Reach 7. " * 50)))
    wrong: list[object] = []
    with closing(
        OpenAICompatibleModel("m", base_url=f"http://127.0.0.1:{port}/v1", max_concurrency=connections)
    ) as model:

        def play() -> None:
            for _ in range(CALLS):
                outcomes = all_outcomes(model, [request])
                wrong.extend(outcome for outcome in outcomes if not isinstance(outcome, Completion))

        lanes = [Thread(target=play) for _ in range(threads)]
        started, cpu = time.perf_counter(), time.process_time()
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    if wrong:
        raise SystemExit(f"not every call was answered: {wrong[0]!r}")
    return seconds, cpu / (threads * CALLS), most_at_once(port)


def most_at_once(port: int) -> int:
    """What the server counted since it was last asked."""
    import httpx

    return int(httpx.get(f"http://127.0.0.1:{port}/").text)


def main() -> None:
    ready, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(child,), daemon=True)
    server.start()
    port = ready.recv()
    for threads, connections, target in CASES:
        rounds = [measure(port, threads, connections) for _ in range(3)]
        seconds = median(round_[0] for round_ in rounds)
        cpu = median(round_[1] for round_ in rounds)
        limit = threads * CALLS / connections * LATENCY
        print(
            f"{threads} threads x {CALLS} calls over {connections} connections: {seconds:.2f} s "
            f"(target <= {target} s, ratio {seconds / target:.2f}; latency alone {limit:.2f} s), "
            f"CPU a call {cpu * 1e3:.2f} ms (target <= {TARGET_CPU * 1e3:.1f} ms, "
            f"ratio {cpu / TARGET_CPU:.2f}), at most {max(round_[2] for round_ in rounds)} at once"
        )
    server.terminate()


if __name__ == "__main__":
    main()
