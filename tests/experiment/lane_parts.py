"""Plug-ins for runs of many lanes: a pure model that counts, a learner, a watcher, a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar

from perdure.core.callback import Callback, CallbackContext
from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.parameters import Operational
from perdure.core.types import JSON, Completion, Message, Request
from perdure.core.usage import TokenCount
from perdure.environments.counter import WORLD as COUNTER
from perdure.environments.counter import CounterEnvironment


class Answering:
    """Answers after a moment; the same request has the same reply. Eight may ask at once."""

    max_concurrency = 8
    pure = True

    def __init__(self, *, marks: Annotated[Path, Operational]) -> None:
        self._marks = marks
        self._marks.mkdir(exist_ok=True)
        self._lock = threading.Lock()
        self._under_way = self._most = 0

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | ModelError]]:
        for position, request in enumerate(requests):
            self._begin(request)
            time.sleep(0.02)
            with self._lock:
                self._under_way -= 1
            says = len(request.messages[-1].text) % 3
            yield (
                position,
                Completion(f"Action: add {1 + says}" if len(request.messages) < 9 else "Action: done"),
            )

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return TokenCount(sum(len(message.text) for message in messages), exact=True)

    def _begin(self, request: Request) -> None:
        with self._lock:
            self._under_way += 1
            self._most = max(self._most, self._under_way)
            (self._marks / "most").write_text(str(self._most))
            asked = self._marks / "asked"
            down = self._marks / "down_after"
            lines = asked.read_text().splitlines() if asked.exists() else []
            if down.exists() and len(lines) >= int(down.read_text()):
                self._under_way -= 1
                raise ModelUnavailable("the server is down")
            with asked.open("a") as file:
                file.write(f"{len(request.messages)}\n")


class Alone(CounterEnvironment):
    """Says nothing of instances side by side."""

    name = "alone"


WORLD = replace(COUNTER, environment=Alone, side_by_side=False)


class Counts(Callback):
    """Adds how many sessions it remembers, as experience."""

    def __init__(self) -> None:
        self._sessions = 0

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        self._sessions = (state or 0) + sum(delta or 0 for delta in deltas)

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        assert len(ctx.past_sessions) == self._sessions
        ctx.session.experience.append(str(self._sessions))

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        self._sessions += 1

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        return 1

    def snapshot_state(self) -> JSON:
        return self._sessions


class Watches(Callback):
    """Notes the sessions it saw end, and whether two lanes were ever in it at once."""

    reach = "watch"
    inside: ClassVar[int] = 0

    def __init__(self, *, marks: Annotated[Path, Operational]) -> None:
        self._marks = marks

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        Watches.inside += 1
        time.sleep(0.001)
        if Watches.inside > 1:
            (self._marks / "overlapped").touch()
        Watches.inside -= 1

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        with (self._marks / "watched").open("a") as file:
            file.write(f"{ctx.session.index} ")


class Breaks(Callback):
    """Raises in session 9 and, sooner, in session 12; both after those before 9 have ended."""

    reach = "session"
    ended: set[int] = set()  # noqa: RUF012 - the lanes' instances share it
    raised = threading.Event()

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        index = ctx.session.index
        self.ended.add(index)
        if index == 9:
            self.raised.wait(30)
            time.sleep(0.2)
        if index == 12:
            ends = time.monotonic() + 30
            while not self.ended >= {*range(10)} and time.monotonic() < ends:
                time.sleep(0.01)
            self.raised.set()
        if index in (9, 12):
            raise KeyError(f"session {index}")
