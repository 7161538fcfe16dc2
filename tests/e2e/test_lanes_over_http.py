"""A model behind a server: 16 lanes write the bytes that one lane writes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perdure
from tests.e2e.pure_server import Messages, PureServer, counting, querying
from tests.e2e.test_kill import results
from tests.models.fake_provider import FakeProvider

LANES = 16


@pytest.mark.parametrize(
    ("world", "player"),
    [
        ({"name": "counter", "tasks": 40}, counting),
        ({"name": "database"}, querying),
        ({"name": "database", "compat": "paper"}, querying),
    ],
    ids=["counter", "database", "database as the paper"],
)
def test_sixteen_lanes_write_what_one_writes(
    tmp_path: Path, world: dict[str, Any], player: Callable[[Messages, random.Random], str]
) -> None:
    server = PureServer(player)
    with FakeProvider(then=server.answer) as provider:
        model = {"provider": "openai_compatible", "model": "m", "base_url": provider.url}
        config: dict[str, Any] = {
            "environment": world,
            "models": {"default": {**model, "max_concurrency": LANES}},
            "execution": {"limit": 40, "snapshot_every": 7, "fsync": False},
        }
        serial = perdure.run(config, sets=["execution.max_parallel=1"], out=tmp_path / "serial")
        calls, server.received, server.pause = server.received, 0, 0.03
        many = perdure.run(config, sets=[f"execution.max_parallel={LANES}"], out=tmp_path / "many")
        assert server.received == calls > 100
        assert provider.most_at_once > LANES // 2
    assert results(many.folder) == results(serial.folder)
    assert {record.status for record in many.records()} >= {"completed"}
