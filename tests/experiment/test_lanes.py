"""Many lanes: the same files as a serial run, failures told in order, nothing lost, nothing asked twice."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.callback import CallbackList
from perdure.core.controller import Limits
from perdure.core.errors import ConfigError, ModelUnavailable
from perdure.core.types import Message, Observation, Trial
from perdure.environments.counter import CounterEnvironment
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.lane import Lane
from perdure.experiment.lanes import LaneStopped
from perdure.experiment.scripted_agents import DoNothing
from perdure.models.scripted import ScriptedModel
from perdure.storage.run_store import RunStore
from tests.core.playing import pool_of
from tests.experiment import lane_parts
from tests.sandboxes.availability import need_bubblewrap

WORLDS: dict[str, dict[str, Any]] = {
    "counter": {"tasks": 30},
    "database": {},
    "knowledge_graph": {},
    "warehouse": {"horizon": 20},
    "repository": {"horizon": 20},
    "operating_system": {"root": "host"},
}
SAME = ("sessions.jsonl", "metrics.json", "blobs/texts.jsonl")


def content(folder: Path) -> dict[str, bytes]:
    """What must not depend on the number of lanes."""
    snapshots = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("snapshots/*")}
    return {name: (folder / name).read_bytes() for name in SAME} | snapshots


@pytest.mark.parametrize("name", WORLDS)
def test_sixteen_lanes_write_what_one_writes(tmp_path: Path, name: str) -> None:
    if name == "operating_system":
        need_bubblewrap()
    config: dict[str, Any] = {
        "environment": {"name": name, **WORLDS[name]},
        "agent": {"kind": "oracle"},
        "execution": {"limit": 30 if name != "operating_system" else 6, "snapshot_every": 7, "fsync": False},
    }
    folders = []
    for lanes in (1, 16):
        out = tmp_path / str(lanes)
        perdure.run(config, sets=[f"execution.max_parallel={lanes}"], out=out)
        folders.append(content(out))
    assert folders[0] == folders[1]
    assert b'"correct"' in folders[0]["sessions.jsonl"]


def talking(folder: Path, tasks: int = 24, **execution: Any) -> dict[str, Any]:
    """A run whose model is a pure function of `lane_parts`."""
    source = Path(lane_parts.__file__)
    (folder / "lane_parts.py").write_text(source.read_text())
    return {
        "environment": {"name": "counter", "tasks": tasks},
        "agent": {"kind": "model", "model": "m"},
        "models": {"m": {"provider": "lane_parts.py:Answering", "marks": str(folder / "marks")}},
        "execution": {"fsync": False, **execution},
    }


def play(folder: Path, config: dict[str, Any], out: str, **execution: Any) -> Path:
    merged = {**config, "execution": {**config["execution"], **execution, "out": str(folder / out)}}
    with Experiment(load_config(merged), base=folder) as experiment:
        experiment.run()
    return folder / out


def test_auto_takes_as_many_lanes_as_the_model_bears_and_fills_them(tmp_path: Path) -> None:
    config = talking(tmp_path)
    with Experiment(load_config(config), base=tmp_path) as experiment:
        experiment.check()
        assert experiment.parallelism().lanes == 8
    serial, auto = play(tmp_path, config, "serial", max_parallel=1), play(tmp_path, config, "auto")
    assert content(serial) == content(auto)
    assert int((tmp_path / "marks" / "most").read_text()) == 8


def test_an_interrupted_run_asks_no_answered_call_again(tmp_path: Path) -> None:
    config = talking(tmp_path)
    whole = play(tmp_path, config, "whole")
    asked = len((tmp_path / "marks" / "asked").read_text().splitlines())
    (tmp_path / "marks" / "asked").unlink()
    (tmp_path / "marks" / "down_after").write_text(str(asked * 3 // 4))
    with pytest.raises(ModelUnavailable, match="down"):
        play(tmp_path, config, "cut")
    (tmp_path / "marks" / "down_after").unlink()
    kept = len((tmp_path / "cut" / "sessions.jsonl").read_bytes().splitlines())
    assert 0 < kept < 24
    resumed = play(tmp_path, config, "cut", max_parallel=4)
    assert content(resumed) == content(whole)
    lines = (tmp_path / "marks" / "asked").read_text().splitlines()
    assert len(lines) == asked, "every answer that had arrived was served from its log"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"models": {"m": {"provider": "scripted", "replies": ["Action: done"]}}},
            "the model 'm' is not pure",
        ),
        ({"environment": {"name": "lane_parts.py:Alone", "tasks": 3}}, "is not side_by_side"),
    ],
)
def test_more_lanes_than_is_safe_are_refused_naming_why(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    config = talking(tmp_path) | change
    with pytest.raises(ConfigError, match=f"execution.max_parallel: cannot be 4, for .*{message}"):
        play(tmp_path, config, "run", max_parallel=4)
    assert len(perdure.load(play(tmp_path, config, "run")).sessions) > 0


def remembering(folder: Path, **more: Any) -> dict[str, Any]:
    return talking(folder, tasks=12) | {"callbacks": [{"name": "lane_parts.py:Counts"}], **more}


def test_who_remembers_has_one_lane_or_blocks(tmp_path: Path) -> None:
    config = remembering(tmp_path)
    with Experiment(load_config(config), base=tmp_path) as experiment:
        experiment.check()
        assert experiment.parallelism().lanes == 1
    assert seen(play(tmp_path, config, "stream")) == list(range(12))
    blocks = remembering(tmp_path, memory_block=5)
    one, many = play(tmp_path, blocks, "one", max_parallel=1), play(tmp_path, blocks, "many", max_parallel=8)
    assert seen(one) == [0] * 5 + [5] * 5 + [10] * 2
    assert content(one) == content(many)


def seen(run: Path) -> list[int]:
    """How many sessions the callback knew of, by session."""
    return [int(past.experience[0]) for past in perdure.load(run).sessions]


@pytest.mark.parametrize("cut", [3, 5, 7])
def test_a_block_that_was_cut_goes_on_with_the_memory_of_its_beginning(tmp_path: Path, cut: int) -> None:
    blocks = remembering(tmp_path, memory_block=5)
    blocks["execution"]["snapshot_every"] = 2
    whole = play(tmp_path, blocks, "whole")
    play(tmp_path, blocks, "cut", limit=cut)
    resumed = play(tmp_path, blocks, "cut", max_parallel=3)
    assert content(resumed)["sessions.jsonl"] == content(whole)["sessions.jsonl"]


def test_snapshots_of_blocks_stand_at_their_borders_and_at_the_end(tmp_path: Path) -> None:
    blocks = remembering(tmp_path, memory_block=5)
    out = play(tmp_path, blocks, "run", limit=8, snapshot_every=2)
    assert sorted(path.name for path in (out / "snapshots").iterdir()) == ["00000005.json", "00000008.json"]


def test_watchers_are_called_one_at_a_time_and_see_every_session(tmp_path: Path) -> None:
    config = talking(tmp_path) | {
        "callbacks": [{"name": "lane_parts.py:Watches", "marks": str(tmp_path / "marks")}]
    }
    play(tmp_path, config, "run")
    assert sorted(map(int, (tmp_path / "marks" / "watched").read_text().split())) == list(range(24))
    assert not (tmp_path / "marks" / "overlapped").exists()


def test_the_failure_of_the_smallest_place_is_told_and_what_was_before_it_is_kept(tmp_path: Path) -> None:
    config = talking(tmp_path) | {"callbacks": [{"name": "lane_parts.py:Breaks"}]}
    with pytest.raises(KeyError, match="session 9"):
        play(tmp_path, config, "run")
    assert len((tmp_path / "run" / "sessions.jsonl").read_bytes().splitlines()) == 9
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lane-")]


def test_a_lane_that_is_to_stop_carries_out_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that asks no model: what it would do is owed again."""
    environment = CounterEnvironment(tasks=1)
    acted: list[str] = []
    carry_out = environment.interact

    def interact(action: str) -> Observation:
        acted.append(action)
        return carry_out(action)

    def check() -> None:
        if len(acted) == 2:
            raise LaneStopped("the run is stopping")

    with closing(RunStore(tmp_path)) as store:
        monkeypatch.setattr(environment, "interact", interact)
        lane = Lane(
            environment=environment,
            agent=DoNothing("read"),
            callbacks=CallbackList(),
            limits=Limits(max_interactions=8, max_turns=9),
            pool=pool_of(ScriptedModel([])),
        )
        (task,) = environment.task_ids()
        with pytest.raises(LaneStopped), closing(store.log(0, Trial(task), check=check)) as log:
            lane.play(0, Trial(task), log, store.past)
    assert acted == ["read"] * 2


def test_a_frozen_session_meets_the_items_that_are_given_whatever_its_lane_held(tmp_path: Path) -> None:
    environment = CounterEnvironment(tasks=1)
    environment.history_factory.assign([Message("user", "an edit"), Message("agent", "yes")])
    given = (Message("user", "shown"), Message("agent", "seen"))
    lane = Lane(
        environment=environment,
        agent=DoNothing("done"),
        callbacks=CallbackList(),
        limits=Limits(max_interactions=8, max_turns=9),
        pool=pool_of(ScriptedModel([])),
    )
    (task,) = environment.task_ids()
    with closing(RunStore(tmp_path)) as store, closing(store.log(0, Trial(task))) as log:
        finished = lane.play_frozen(0, Trial(task), log, store.past, given)
    assert finished.session.history[:2] == given
