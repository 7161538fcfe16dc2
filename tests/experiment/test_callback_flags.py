"""How far a callback reaches, whether it learns, and what it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError

DEAD = """
from perdure.core.errors import ModelError
from perdure.core.types import SessionStatus

def reply(request):
    with open(COUNT, "a") as file:
        file.write("asked\\n")
    return ModelError("gone", SessionStatus.AGENT_UNKNOWN_ERROR)
"""


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_guard_guards_a_control_as_it_guards_a_stream(
    tmp_path: Path, *, stateless: bool, resumed: bool
) -> None:
    (tmp_path / "dead.py").write_text(DEAD.replace("COUNT", repr(str(tmp_path / "asked"))))
    config = {
        "environment": {"name": "counter", "tasks": 6},
        "models": {"default": {"provider": "scripted", "replies": f"{tmp_path}/dead.py:reply"}},
        "callbacks": [{"name": "abort_on_agent_errors", "tolerance": 2}, {"name": "experience_replay"}],
        "stateless": stateless,
    }
    for limit in (1, 3, 6) if resumed else (6,):
        run = perdure.run(config, sets=[f"execution.limit={limit}"], out=tmp_path / "run")
    given_up = [record.finish_reason.startswith("given up") for record in run.records()]
    assert given_up == [False, False, True, True, True, True]
    assert (tmp_path / "asked").read_text() == "asked\n" * 2


def test_a_guard_guards_a_probe(tmp_path: Path) -> None:
    (tmp_path / "dead.py").write_text(DEAD.replace("COUNT", repr(str(tmp_path / "asked"))))
    config = {
        "environment": {"name": "counter", "tasks": 4},
        "models": {"default": {"provider": "scripted", "replies": f"{tmp_path}/dead.py:reply"}},
        "callbacks": [{"name": "abort_on_agent_errors", "tolerance": 1}],
        "tasks": ["0"],
        "probes": {"checkpoints": 1},
    }
    perdure.run(config, out=tmp_path / "run")
    probe = perdure.load(tmp_path / "run" / "probes" / "00000000")
    assert [record.turns for record in probe.records()] == [1, 0, 0, 0]


CALLBACKS = """
from perdure import Callback

class Counting(Callback):
    name = "counting"

    def __init__(self, *, word: str, model=None):
        self.word, self.seen = word, 0

    def restore_state(self, state, deltas):
        self.seen = (state or 0) + sum(delta for delta in deltas if delta)

    def on_environment_reset(self, ctx):
        ctx.session.experience.append(f"{self.word} {self.seen} {len(ctx.past_sessions)}")

    def on_state_save(self, ctx):
        self.seen += 1
        return 1

    def snapshot_state(self):
        return self.seen

class Near(Counting):
    name = ""
    reach = "session"
    def on_state_save(self, ctx):
        return None
    def snapshot_state(self):
        return None

class Secretive(Counting):
    name = ""
    reach = "session"

class Peeping(Counting):
    name = ""
    reach = "watch"

class Studious(Callback):
    def __init__(self, *, model: "ModelHandle"):
        self.model = model
    def on_environment_complete(self, ctx):
        self.model.generate([Request((Message("user", "what did we learn?"),))])

class Asking(Callback):
    def __init__(self, *, model: "ModelHandle"):
        self.model = model
    def on_environment_reset(self, ctx):
        self.model.generate([Request((Message("user", "hm?"),))])

from perdure import Message, ModelHandle, Request
"""


@pytest.fixture
def base(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "mine.py").write_text(CALLBACKS)
    return {"environment": {"name": "counter", "tasks": 3}, "agent": {"kind": "oracle"}}


def entry(tmp_path: Path, name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": f"{tmp_path}/mine.py:{name}", **parameters}


@pytest.mark.parametrize(("name", "reach"), [("Secretive", "session"), ("Peeping", "watch")])
def test_who_declares_no_memory_keeps_none(
    base: dict[str, Any], tmp_path: Path, name: str, reach: str
) -> None:
    declared = f"{name.lower()!r}: on_state_save returned a state; its reach is {reach!r}"
    with pytest.raises(ConfigError, match=declared):
        perdure.run({**base, "callbacks": [entry(tmp_path, name, word="x")]}, out=tmp_path / "run")
    assert not (tmp_path / "run" / "sessions.jsonl").read_bytes()


def test_several_callbacks_of_one_class_have_labels(base: dict[str, Any], tmp_path: Path) -> None:
    one, two = (entry(tmp_path, "Counting", word=word, label=word) for word in ("one", "two"))
    whole = perdure.run({**base, "callbacks": [one, two]}, out=tmp_path / "whole")
    assert [past.experience for past in whole.sessions] == [
        (f"one {i} {i}", f"two {i} {i}") for i in range(3)
    ]
    assert next(iter(whole.reader.lines()))["callbacks"] == {"one": 1, "two": 1}
    for limit in (1, 2, 3):
        parts = perdure.run(
            {**base, "callbacks": [one, two]}, sets=[f"execution.limit={limit}"], out=tmp_path / "parts"
        )
    assert (parts.folder / "sessions.jsonl").read_bytes() == (whole.folder / "sessions.jsonl").read_bytes()


def test_two_of_one_class_without_labels_are_told(base: dict[str, Any], tmp_path: Path) -> None:
    two = [entry(tmp_path, "Counting", word="x")] * 2
    with pytest.raises(ConfigError, match="two callbacks are named 'counting'; give one of them a label"):
        perdure.run({**base, "callbacks": two}, out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"callbacks\.0\.label: String should match pattern"):
        perdure.run({**base, "callbacks": [entry(tmp_path, "Counting", word="x", label="a b")]})


def test_calls_are_metered_under_the_label(base: dict[str, Any], tmp_path: Path) -> None:
    config = {
        **base,
        "models": {"m": {"provider": "scripted", "replies": ["x"], "cycle": True}},
        "callbacks": [
            entry(tmp_path, "Asking", model="m", label="first"),
            entry(tmp_path, "Asking", model="m"),
        ],
    }
    run = perdure.run(config, out=tmp_path / "run")
    assert [call.caller for call in run.reader.calls(0)] == ["callback:first", "callback:asking"]


def test_who_is_frozen_spends_nothing_on_learning(base: dict[str, Any], tmp_path: Path) -> None:
    model = {"provider": "scripted", "replies": ["much"], "cycle": True}
    config = {**base, "models": {"m": model}, "callbacks": [entry(tmp_path, "Studious", model="m")]}
    learning = perdure.run(config, out=tmp_path / "learning")
    assert [len(list(learning.reader.calls(i))) for i in range(3)] == [1, 1, 1]
    frozen = perdure.run({**config, "stateless": True}, out=tmp_path / "frozen")
    assert [len(list(frozen.reader.calls(i))) for i in range(3)] == [0, 0, 0]


def test_a_session_callback_sees_no_past(base: dict[str, Any], tmp_path: Path) -> None:
    run = perdure.run({**base, "callbacks": [entry(tmp_path, "Near", word="near")]}, out=tmp_path / "run")
    assert [past.experience[0].split()[-1] for past in run.sessions] == ["0", "0", "0"]


def test_a_reach_that_does_not_exist_is_told(base: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CALLBACKS.replace('reach = "session"', 'reach = "galaxy"'))
    with pytest.raises(ConfigError, match="reach = 'galaxy'; choose one of: session, stream, watch"):
        perdure.run({**base, "callbacks": [entry(tmp_path, "Near", word="x")]}, out=tmp_path / "run")


def test_a_frozen_control_keeps_the_order_of_the_configuration(base: dict[str, Any], tmp_path: Path) -> None:
    names = [("Counting", "a"), ("Near", "b"), ("Counting", "c")]
    callbacks = [entry(tmp_path, name, word=word, label=word) for name, word in names]
    run = perdure.run({**base, "callbacks": callbacks, "stateless": True}, out=tmp_path / "run")
    for past in run.sessions:
        assert past.experience == ("a 0 0", "b 0 0", "c 0 0")
