"""The power may go at any moment: no acknowledged session is lost, and the run goes on to the same end.

Every protection is taken away in turn, and the simulator must notice.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from perdure.core.agent import ModelAgent
from perdure.core.callback import CallbackList
from perdure.core.controller import Controller, Limits
from perdure.core.recording import FinishedTask
from perdure.core.types import Trial
from perdure.environments.counter import CounterEnvironment
from perdure.models.scripted import ScriptedModel
from perdure.storage.files import unseal
from perdure.storage.run_reader import RunReader
from perdure.storage.run_store import RunStore
from perdure.storage.snapshots import Snapshot
from perdure.strategies.full_history import FullHistory
from tests.core.playing import play, pool_of, step_to_goal
from tests.storage.power_loss import Killed, Op, Recorder, crashes, recording

TASKS = 4
EVERY = 2
"""Sessions between two snapshots."""
LIMITS = Limits(max_interactions=2, max_turns=8)
POINTS = int(os.environ.get("PERDURE_CRASH_POINTS", "125"))
"""Of each part of each kind of run: 1,000 in all."""
RUN = Path("runs/run")
RESULTS = [
    "sessions.jsonl",
    "blobs/texts.jsonl",
    "metrics.json",
    "snapshots/00000002.json",
    "snapshots/00000004.json",
]


def serial(folder: Path, *, fsync: bool = True) -> RunReader:
    """Play or resume, one lane."""
    return play(folder, tasks=TASKS, limits=LIMITS, snapshot_every=EVERY, fsync=fsync)


def in_lanes(folder: Path) -> None:
    """Four lanes in threads; what is finished and next in line is committed together."""
    schedule = [Trial(str(i)) for i in range(TASKS)]

    def one(index: int) -> FinishedTask:
        pool = pool_of(ScriptedModel(step_to_goal))
        agent = ModelAgent(pool.caller("agent", "m"), FullHistory())
        environment = CounterEnvironment(tasks=TASKS)
        controller = Controller(environment=environment, agent=agent, callbacks=CallbackList(), limits=LIMITS)
        with closing(store.log(index, schedule[index])) as pool.recorder:
            return controller.play(index, schedule[index], pool.recorder, store.past)

    with closing(RunStore(folder, snapshot_every=EVERY)) as store, ThreadPoolExecutor(4) as lanes:
        finished = [lanes.submit(one, index) for index in range(TASKS)]
        for start in range(0, TASKS, EVERY):
            store.commit([future.result() for future in finished[start : start + EVERY]])
            store.write_snapshot(Snapshot(len(store.past)))
        metrics = CounterEnvironment(tasks=TASKS).calculate_metric(store.past.records())
        store.write_metrics({"environment": dict(metrics)})


@contextmanager
def acknowledging(recorder: Recorder) -> Iterator[None]:
    """Keep in the record what the store does and what it told to be safe."""
    opened, commit = RunStore.__init__, RunStore.commit
    snapshot, metrics = RunStore.write_snapshot, RunStore.write_metrics

    def during(phase: str, act: Callable[[], None]) -> None:
        before, recorder.phase = recorder.phase, phase
        act()
        recorder.phase = before

    def opening(store: RunStore, folder: Path, **options: object) -> None:
        during("open", lambda: opened(store, folder, **options))  # type: ignore[arg-type]
        recorder.acknowledge("sessions", len(store.past))

    def committing(store: RunStore, tasks: list[FinishedTask]) -> None:
        during("commit", lambda: commit(store, tasks))
        recorder.acknowledge("sessions", len(store.past))

    def writing_snapshot(store: RunStore, taken: Snapshot) -> None:
        during("snapshot", lambda: snapshot(store, taken))
        recorder.acknowledge("snapshot", taken.tasks)

    def writing_metrics(store: RunStore, found: dict[str, object]) -> None:
        during("metrics", lambda: metrics(store, found))
        recorder.acknowledge("metrics", 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "__init__", opening)
        patch.setattr(RunStore, "commit", committing)
        patch.setattr(RunStore, "write_snapshot", writing_snapshot)
        patch.setattr(RunStore, "write_metrics", writing_metrics)
        yield


@cache
def recorded(run: Callable[[Path], object], kill_at: int | None = None) -> tuple[Op, ...]:
    """What a run asks of the system; one that is killed at an op is then resumed by another process."""
    root = Path(mkdtemp(prefix="perdure-power-"))
    try:
        with recording(root, kill_at) as recorder, acknowledging(recorder):
            if kill_at is None:
                run(root / RUN)
            else:
                with pytest.raises(Killed):
                    run(root / RUN)
        if kill_at is not None:
            with recording(root, before=recorder) as recorder, acknowledging(recorder):
                serial(root / RUN)
        return tuple(recorder.ops)
    finally:
        shutil.rmtree(root)


@cache
def killed_runs() -> tuple[tuple[Op, ...], ...]:
    """Runs that are killed at each step of their last commit, and resumed."""
    ops = recorded(serial)
    (start,) = [i for i, op in enumerate(ops) if op.fact == ("sessions", TASKS - 1)]
    (end,) = [i for i, op in enumerate(ops) if op.fact == ("sessions", TASKS)]
    steps = [i for i in range(start, end + 1) if ops[i].label.startswith("commit ")]
    return tuple(recorded(serial, kill_at) for kill_at in [*steps, end])


@dataclass(frozen=True)
class Whole:
    """What an uninterrupted run leaves."""

    files: dict[str, bytes]
    blobs_end: list[int]
    """How far the texts of each session go."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole") / RUN
    reader = serial(folder, fsync=False)
    ends = [line["blobs"] for line in reader.lines()]
    return Whole({name: (folder / name).read_bytes() for name in RESULTS}, ends)


@pytest.fixture
def scratch() -> Iterator[Callable[[], Path]]:
    """Makes an empty folder, in memory where there is such a place; the one before goes."""
    place = Path("/dev/shm")
    with TemporaryDirectory(dir=place if place.is_dir() else None, prefix="perdure-power-") as top:

        def fresh() -> Path:
            shutil.rmtree(top, ignore_errors=True)
            there = Path(top)
            there.mkdir()
            return there

        yield fresh


def complaint(folder: Path, told: dict[str, int], whole: Whole, *, resume: bool = True) -> str | None:
    """What a crash did that must not happen, or None."""
    try:
        if (wrong := _left_wrong(folder, told, whole)) is not None or not resume:
            return wrong
        serial(folder, fsync=False)
    except Exception as error:  # noqa: BLE001 - whatever it is, the crash has done it
        return f"{type(error).__name__}: {error}"
    for name, content in whole.files.items():
        if (folder / name).read_bytes() != content:
            return f"the resumed run ends with another {name}"
    ledger = [line["index"] for line in RunReader(folder).ledger()]
    return None if ledger == list(range(TASKS)) else f"the resumed run has charges of {ledger}"


def _left_wrong(folder: Path, told: dict[str, int], whole: Whole) -> str | None:
    reader = RunReader(folder)
    done, blobs = len(reader), folder / "blobs" / "texts.jsonl"
    if done < told.get("sessions", 0):
        return f"{told['sessions']} sessions were acknowledged, {done} are left"
    list(reader)
    for index in range(done):
        list(reader.calls(index))
    charged = [line["index"] for line in reader.ledger()]
    if charged != list(range(done)):
        return f"{done} sessions have charges of {charged}"
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True) if done else []
    ahead = sum(unseal(line) is not None for line in lines)
    if ahead and (blobs.stat().st_size if blobs.exists() else 0) < whole.blobs_end[ahead - 1]:
        return "charges are ahead of their texts"
    taken = list((folder / "snapshots").glob("*.json"))
    if any(unseal(path.read_bytes()) is None for path in taken):
        return "a snapshot is torn"
    newest = max((int(path.stem) for path in taken), default=0)
    if not told.get("snapshot", 0) <= newest <= done:
        return (
            f"the newest snapshot is of {newest}, {told.get('snapshot', 0)} was acknowledged, {done} are left"
        )
    if reader.metrics() is None and told.get("metrics"):
        return "acknowledged metrics are lost"
    return None


def first_complaint(
    ops: tuple[Op, ...],
    whole: Whole,
    scratch: Callable[[], Path],
    points: int,
    *,
    resume: bool = True,
    seed: int = 0,
) -> str | None:
    for root, told in crashes(list(ops), points, Random(20260801 + seed), scratch):
        if (found := complaint(root / RUN, told, whole, resume=resume)) is not None:
            return found
    return None


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("run", [serial, in_lanes])
def test_no_crash_loses_what_was_acknowledged(
    run: Callable[[Path], object], part: int, whole: Whole, scratch: Callable[[], Path]
) -> None:
    assert first_complaint(recorded(run), whole, scratch, POINTS, seed=part) is None


def test_a_resumed_run_may_lose_its_power_too(whole: Whole, scratch: Callable[[], Path]) -> None:
    for ops in killed_runs():
        assert first_complaint(ops, whole, scratch, 15) is None


SYNCS = [
    "open runs/",  # the folder's name
    "open runs/run/",  # names of its files
    "open runs/run/blobs/",
    "open runs/run/sessions.jsonl",  # a session that a killed process wrote and did not sync
    "open ./",  # what leads to the folder
    "commit runs/run/blobs/texts.jsonl",
    "commit runs/run/ledger.jsonl",
    "commit runs/run/sessions.jsonl",
    "snapshot runs/run/",
    "snapshot runs/run/snapshots/*",
    "snapshot runs/run/snapshots/",
    "metrics runs/run/*",
    "metrics runs/run/",
]


def is_sync(op: Op) -> bool:
    return op.kind in ("sync", "sync_folder")


def test_every_sync_is_tried_without() -> None:
    assert {op.label for op in recorded(serial) if is_sync(op)} == set(SYNCS)
    assert {op.label for op in recorded(in_lanes) if is_sync(op)} == set(SYNCS)


@pytest.mark.parametrize("label", SYNCS)
def test_without_one_of_the_syncs_something_is_lost(
    label: str, whole: Whole, scratch: Callable[[], Path]
) -> None:
    def without(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        kept = [op for op in ops if not (is_sync(op) and op.label == label)]
        return (*kept, *[Op("idle")] * 60)  # long after the end, too

    runs = [*reversed(killed_runs()), recorded(serial)] if label.startswith("open ") else [recorded(serial)]
    assert any(first_complaint(without(ops), whole, scratch, 200, resume=False) for ops in runs)


STEPS = ["blobs/texts.jsonl", "ledger.jsonl", "sessions.jsonl"]


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 2), (0, 2)])
def test_in_another_order_something_is_lost(
    first: int, second: int, whole: Whole, scratch: Callable[[], Path]
) -> None:
    """Blobs before ledger before sessions."""
    names = [f"commit runs/run/{name}" for name in STEPS]
    swapped: list[Op] = []
    commit: list[Op] = []
    for op in recorded(serial):
        if op.label in names:
            commit.append(op)
            continue
        order = [*names]
        order[first], order[second] = order[second], order[first]
        swapped += [step for name in order for step in commit if step.label == name]
        commit = []
        swapped.append(op)
    assert len(swapped) == len(recorded(serial))
    assert first_complaint(tuple(swapped), whole, scratch, 400, resume=False) is not None


def test_with_snapshots_before_their_sessions_something_is_wrong(
    whole: Whole, scratch: Callable[[], Path]
) -> None:
    swapped: list[Op] = []
    for op in recorded(serial):
        if op.label.startswith("snapshot ") or op.fact[0] == "snapshot":
            start = next(i for i, o in enumerate(swapped) if o.fact == ("sessions", len_before(swapped)))
            early = sum(o.label.startswith("snapshot ") for o in swapped[start:])
            swapped.insert(start + 1 + early, op)
        else:
            swapped.append(op)
    assert first_complaint(tuple(swapped), whole, scratch, 400, resume=False) is not None


def len_before(ops: list[Op]) -> int:
    """How many sessions were acknowledged before the last commit."""
    return [op.fact[1] for op in ops if op.fact[0] == "sessions"][-2]
