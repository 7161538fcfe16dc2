"""A server on loopback whose replies follow from the prompt alone: as players of the counter and of SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from threading import Lock
from typing import Any

from tests.models.fake_provider import Answer, Received, completion

Messages = list[dict[str, Any]]


class PureServer:
    """Answers as `player` says, each after a part of `pause` seconds that follows from the prompt too.

    `on_request` is called with how many requests have been received, while nobody else is let in.
    """

    def __init__(self, player: Callable[[Messages, random.Random], str]) -> None:
        self.received = 0
        self.pause = 0.0
        self.on_request: Callable[[int], None] = lambda number: None
        self._player = player
        self._lock = Lock()

    def answer(self, received: Received) -> Answer:
        with self._lock:
            self.received += 1
            self.on_request(self.received)
        messages = received.body["messages"]
        draw = random.Random(repr(messages))
        said = self._player(messages, draw)
        return Answer(completion(said), delay=self.pause * draw.random())


def counting(messages: Messages, draw: random.Random) -> str:
    """Walks about for a while; some replies hold no action."""
    if draw.random() < 0.1:
        return "Let me think."
    is_long = len(messages) > 3 + 2 * draw.randint(2, 6)
    return "Action: done" if is_long else f"Action: add {draw.randint(-9, 9)}"


def querying(messages: Messages, draw: random.Random) -> str:
    """Looks at the table, changes it, makes a mistake, then answers with what it saw last."""
    named = re.search(
        r"The table is called (\S+); its columns are ([^,.]+)", "".join(m["content"] for m in messages)
    )
    assert named is not None
    table, column = named.groups()
    first = f"SELECT * FROM {table} LIMIT {draw.randint(1, 5)};"
    second = draw.choice(
        [
            f"UPDATE {table} SET {column} = NULL WHERE {column} IS NULL;",
            f"SELECT nothing FROM {table};",
            f"SELECT COUNT(*), '🦊' FROM {table};",
        ]
    )
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn < 2:
        return f"<think>turn {turn}</think>Action: Operation\n```sql\n{(first, second)[turn]}\n```"
    return f"Action: Answer\nFinal Answer: {messages[-1]['content']}"
