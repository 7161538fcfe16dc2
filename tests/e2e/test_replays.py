"""Runs of every shipped environment reproduce, also where a machine tells the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ModelUnavailable
from perdure.experiment.replay import replay
from tests.sandboxes.availability import need_bubblewrap

WORLDS: dict[str, dict[str, Any]] = {
    "counter": {"name": "counter"},
    "database": {"name": "database"},
    "knowledge_graph": {"name": "knowledge_graph"},
    "warehouse": {"name": "warehouse", "horizon": 20, "tasks": 2},
    "repository": {"name": "repository", "horizon": 20, "tasks": 2},
    "operating_system": {"name": "operating_system"},
}


def run(folder: Path, world: dict[str, Any], agent: dict[str, Any], **more: Any) -> perdure.Run:
    if world["name"] == "operating_system":
        need_bubblewrap()
    execution = {"out": str(folder / "run"), "limit": 3}
    return perdure.run({"environment": world, "agent": agent, "execution": execution, **more})


@pytest.mark.parametrize("agent", ["oracle", "do_nothing"])
@pytest.mark.parametrize("world", WORLDS)
def test_a_shipped_world_reproduces(tmp_path: Path, world: str, agent: str) -> None:
    played = run(tmp_path, WORLDS[world], {"kind": agent})
    found = replay(perdure.load(played.folder))
    assert found.reproduces, found.differences


TELLING = """Act: bash
```bash
date; date +%s; uptime; uptime -p; cat /proc/loadavg /proc/uptime; head -3 /proc/meminfo; ps aux; df -h /; df
touch /made; ls -lai --full-time /made /tmp; stat /made; echo $RANDOM
```"""


def test_a_session_that_printed_what_its_machine_tells_reproduces(tmp_path: Path) -> None:
    replies = [TELLING, TELLING, "Act: finish"]
    models = {"default": {"provider": "scripted", "replies": replies, "cycle": True}}
    played = run(tmp_path, WORLDS["operating_system"], {"kind": "model"}, models=models)
    texts = [step.observation.text for past in played.sessions for step in past.interactions]
    assert sum("load average" in text and "MemTotal" in text for text in texts) >= 3, texts[:1]
    found = replay(perdure.load(played.folder))
    assert found.reproduces, found.differences


MOODY = """
from pathlib import Path

from perdure.core.errors import ModelUnavailable
from perdure.core.types import Completion
from perdure.core.usage import TokenCount, Usage


class Moody:
    def generate(self, requests):
        for i, request in enumerate(requests):
            turns = sum(message.role == "agent" for message in request.messages)
            with Path(ASKED).open("a") as asked:
                asked.write(f"{turns} ")
            if turns >= FAILS_AT and not Path(BACK).exists():
                raise ModelUnavailable("gone")
            yield i, Completion(TELLING if turns < FAILS_AT + 1 else "Act: finish", usage=Usage(1, 1))

    def count_tokens(self, messages):
        return TokenCount(1, exact=False)
"""


def test_a_session_that_printed_the_time_goes_on_without_asking_twice(tmp_path: Path) -> None:
    places = {"ASKED": str(tmp_path / "asked"), "BACK": str(tmp_path / "back")}
    names = {**places, "TELLING": TELLING.replace("; echo $RANDOM", ""), "FAILS_AT": 2}
    constants = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    (tmp_path / "moody.py").write_text(constants + MOODY)
    models = {"default": {"provider": f"{tmp_path / 'moody.py'}:Moody"}}
    config = (tmp_path, WORLDS["operating_system"], {"kind": "model"})
    with pytest.raises(ModelUnavailable):
        run(*config, models=models, tasks=["0"])
    (tmp_path / "back").touch()
    played = run(*config, models=models, tasks=["0"])
    turns = [int(turn) for turn in (tmp_path / "asked").read_text().split()]
    assert turns == [0, 1, 2, 2, 3], "only the question without an answer is asked again"
    assert played.summary().divergences == 0
    found = replay(perdure.load(played.folder))
    assert found.reproduces, found.differences
