"""The run folder: what a committed session holds, what damage costs, and what a restore reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.agent import ContextView
from perdure.core.callback import Callback, CallbackContext
from perdure.core.controller import Limits
from perdure.core.errors import RunFolderError
from perdure.core.history import InteractionHistory
from perdure.core.model import Outcome
from perdure.core.pool import ModelHandle
from perdure.core.recording import FinishedTask
from perdure.core.request_digest import request_digest, request_options
from perdure.core.session import Session
from perdure.core.types import (
    Completion,
    Evaluation,
    EvaluationOutcome,
    Message,
    Observation,
    Request,
    Sampling,
    SessionStatus,
    Trial,
)
from perdure.core.usage import Usage
from perdure.environments.counter import CounterEnvironment
from perdure.models.scripted import ScriptedModel
from perdure.storage.run_reader import RunReader
from perdure.storage.snapshots import Snapshot, Snapshots
from tests.core.playing import DONE, play, pool_of, step_to_goal
from tests.core.sealed import lines_of, write_lines
from tests.storage.stores import Tally, finished, opened

TEXTS = st.text(st.characters(codec=None, exclude_categories=()))


steps = st.tuples(
    TEXTS,
    TEXTS,
    st.builds(Observation, TEXTS, accepted=st.booleans(), reward=st.floats(allow_nan=False, width=32)),
)


@st.composite
def finished_sessions(draw: st.DrawFn) -> Session:
    session = Session(draw(TEXTS), index=0, repeat=draw(st.integers(0, 5)))
    pairs = draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=2))
    opening = [Message(role, text) for p in pairs for role, text in zip(("user", "agent"), p, strict=True)]  # type: ignore[arg-type]
    session.start(draw(TEXTS), InteractionHistory([*opening, Message("user", draw(TEXTS))]))
    session.experience.extend(draw(st.lists(TEXTS, max_size=2)))
    session.trace = draw(st.one_of(st.none(), st.dictionaries(TEXTS, st.integers(), max_size=2)))
    for reply, action, observation in draw(st.lists(steps, max_size=4)):
        session.take_turn()
        session.receive(reply)
        session.observe(action, observation)
    session.finish(draw(st.sampled_from([s for s in SessionStatus if s.is_terminal])), draw(TEXTS))
    if draw(st.booleans()):
        detail = draw(st.dictionaries(TEXTS, st.one_of(st.none(), st.booleans(), st.integers()), max_size=2))
        session.evaluate(Evaluation(EvaluationOutcome.CORRECT, draw(st.floats(0, 1)), detail))
    session.conclude()
    return session


prompts = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "agent"]), TEXTS), min_size=1, max_size=4
)


@settings(max_examples=120)
@given(finished_sessions(), st.lists(st.tuples(st.sampled_from("ab"), prompts, TEXTS), max_size=4))
def test_any_session_is_read_back_as_it_was(
    session: Session, calls: list[tuple[str, list[Message], str]]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with opened(folder) as store:
            with closing(store.log(0, Trial(session.task_id, session.repeat))) as log:
                for caller, messages, text in calls:
                    request = Request(tuple(messages), sampling=Sampling(seed=len(text)))
                    call = log.number(caller, "m", request, request_digest(request, "m"))
                    log.ask(call)
                    log.answer(call, Completion(text, usage=Usage(len(text))), 0.1)
                deltas = {"x": session.task_id}
                items = session.history[:-1] or None
                task = FinishedTask(session, log.calls, deltas, log.charges, log.times, items)
            store.commit([task])
        reader = RunReader(folder)
        (past,) = reader
        assert past.record == session.record()
        assert (past.goal, past.history, past.trace) == (session.goal, session.history, session.trace)
        assert past.interactions == session.interactions
        assert past.experience == tuple(session.experience)
        read = list(reader.calls(0))
        assert [(c.caller, list(c.messages)) for c in read] == [(c, m) for c, m, _ in calls]
        assert [c.outcome for c in read] == [Completion(text, usage=Usage(len(text))) for *_, text in calls]
        assert reader.history_items(reader.line(0)) == (session.history[:-1] or None)
        assert reader.line(0)["callbacks"] == {"x": session.task_id}


class Listener:
    """A model that keeps every request that it was asked."""

    def __init__(self, replies: Callable[[Request], str]) -> None:
        self._inner = ScriptedModel(replies)
        self.asked: list[Request] = []
        self.count_tokens = self._inner.count_tokens

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        self.asked += requests
        return self._inner.generate(requests)


class Critic(Callback):
    """Asks the model twice in one batch after every action."""

    def __init__(self, model: ModelHandle) -> None:
        self._model = model

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        messages = (Message("system", "Critic."), Message("user", f"step {len(ctx.session.interactions)}"))
        request = Request(messages, schema={"type": "object"}, logprobs=2)
        self._model.generate([request, Request(messages)])


def test_exact_prompts_are_what_the_model_saw(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        return "fine" if request.messages[0].text == "Critic." else step_to_goal(request)

    model = Listener(reply)
    pool = pool_of(model)
    past = play(tmp_path, callbacks=[Critic(pool.caller("critic", "m"))], tasks=3, pool=pool)
    calls = [call for index in range(3) for call in past.calls(index)]
    assert [call.messages for call in calls] == [request.messages for request in model.asked]
    assert [call.options for call in calls] == [request_options(request) for request in model.asked]
    assert {call.caller for call in calls} == {"agent", "critic"}
    identity = '["scripted", {}]'
    assert [call.digest for call in calls] == [request_digest(request, identity) for request in model.asked]


def bytes_of(folder: Path) -> int:
    return sum((folder / name).stat().st_size for name in ("sessions.jsonl", "blobs/texts.jsonl"))


def test_the_disk_grows_by_the_same_for_every_step_of_a_full_history_run(tmp_path: Path) -> None:
    def size(steps: int) -> int:
        replies = [*(f"Action: add {1 + i % 5} {'because ' * 20}{i}" for i in range(steps)), DONE]
        folder = tmp_path / str(steps)
        play(folder, replies, tasks=1, limits=Limits(1000, 1000))
        return bytes_of(folder)

    small, middle, large = size(50), size(100), size(200)
    first, second = (middle - small) / 50, (large - middle) / 100
    assert first > 150, "every step is stored"
    assert second <= 1.05 * first, "a step costs the same late in a task"


def test_a_history_that_was_not_changed_is_not_stored_again_by_another_task(tmp_path: Path) -> None:
    play(tmp_path, ["Action: read", DONE] * 9, tasks=9)
    lines = (tmp_path / "blobs" / "texts.jsonl").read_bytes().splitlines()
    assert len({line[:36] for line in lines}) == len(lines)


@pytest.mark.parametrize("name", ["sessions.jsonl", "ledger.jsonl", "blobs/texts.jsonl", "index.jsonl"])
@pytest.mark.parametrize("torn", [b"{", b'{"v":1,"ind', b'["0123456789', b"\0\0\0\0"])
def test_a_torn_last_line_of_any_file_is_owed_again(tmp_path: Path, name: str, torn: bytes) -> None:
    finished(tmp_path / "whole")
    environment = CounterEnvironment(tasks=3)
    schedule = [Trial(task) for task in environment.task_ids()]
    folder = tmp_path / "run"
    play(folder, environment=environment, schedule=schedule[:2])
    with (folder / name).open("ab") as file:
        file.write(torn)
    assert [record.correct for record in RunReader(folder).records()] == [True, True], (
        "a reader passes it over"
    )
    assert len(list(RunReader(folder).ledger())) == 2
    play(folder, environment=environment, schedule=schedule)
    for file_name in ("sessions.jsonl", "metrics.json"):
        assert (folder / file_name).read_bytes() == (tmp_path / "whole" / file_name).read_bytes()
    assert list(RunReader(folder)) == list(RunReader(tmp_path / "whole")), "texts too"
    assert len((folder / "ledger.jsonl").read_bytes().splitlines()) == 3


@pytest.mark.parametrize("garbage", [b"\0\0\0", b"{]", b'{"v":1,"ind', b"5", b"", b"{}"])
def test_a_last_line_of_garbage_is_owed_again(tmp_path: Path, garbage: bytes) -> None:
    whole = finished(tmp_path)
    path = tmp_path / "sessions.jsonl"
    before = path.read_bytes()
    lines = before.splitlines()
    path.write_bytes(b"\n".join([*lines[:-1], garbage]) + b"\n")
    finished(tmp_path)
    assert path.read_bytes() == before
    assert len(list(whole.ledger())) == 3


def test_a_ledger_line_without_its_commit_is_dropped(tmp_path: Path) -> None:
    finished(tmp_path)
    path = tmp_path / "ledger.jsonl"
    before = path.read_bytes()
    write_lines(path, [*lines_of(path), {**lines_of(path)[-1], "index": 3}])
    with opened(tmp_path) as store:
        assert len(store.past) == 3
    assert path.read_bytes() == before


def test_a_ledger_that_lost_a_line_stays_aligned(tmp_path: Path) -> None:
    finished(tmp_path)
    path = tmp_path / "ledger.jsonl"
    first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + third)
    write_lines(path, [*lines_of(path), {**lines_of(path)[-1], "index": 3}])
    assert [line["index"] for line in RunReader(tmp_path).ledger()] == [0, 2]
    finished(tmp_path)
    assert path.read_bytes() == first + third


def test_past_sessions_are_a_sequence_read_when_indexed(tmp_path: Path) -> None:
    reader = finished(tmp_path)
    assert len(reader) == 3
    assert reader[-1].record.task_id == "2"
    assert [past.record.task_id for past in reader[1:]] == ["1", "2"]
    assert reader[0] is reader[0], "kept for a while"
    for index in (3, -4):
        with pytest.raises(IndexError):
            reader[index]
    (tmp_path / "blobs" / "texts.jsonl").unlink()
    assert len(list(RunReader(tmp_path).records())) == 3, "slim results need no texts"
    with pytest.raises(RunFolderError, match="does not hold the text"):
        RunReader(tmp_path)[0]


def test_the_newest_two_snapshots_are_kept_and_damage_falls_back(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    assert snapshots.newest(9) == Snapshot()
    kept = {
        tasks: Snapshot(tasks, {"x": tasks}, (Message("user", "q"), Message("agent", "a")))
        for tasks in (2, 4, 6)
    }
    for snapshot in kept.values():
        snapshots.write(snapshot)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000004.json", "00000006.json"]
    assert snapshots.newest(6) == snapshots.newest(7) == kept[6]
    assert snapshots.newest(5) == kept[4], "one that is ahead of the commits is passed over"
    for garbage in ("", "{", "[]", "5", "{}", '{"tasks": 6}'):
        (tmp_path / "00000006.json").write_text(garbage)
        assert snapshots.newest(6) == kept[4]
    (tmp_path / ".00000008.json.1.tmp").write_text("{")
    assert Snapshots(tmp_path).newest(8) == kept[4]
    assert not (tmp_path / ".00000008.json.1.tmp").exists()


@pytest.mark.parametrize(
    ("every", "done", "read"),
    [(1, 5, (5, 0)), (2, 5, (4, 1)), (3, 5, (3, 2)), (50, 5, (0, 5)), (5, 5, (5, 0))],
)
def test_a_restore_reads_one_snapshot_and_the_deltas_after_it(
    tmp_path: Path, every: int, done: int, read: tuple[int, int]
) -> None:
    environment = CounterEnvironment(tasks=7)
    schedule = [Trial(task) for task in environment.task_ids()]
    play(
        tmp_path, callbacks=[Tally()], environment=environment, schedule=schedule[:done], snapshot_every=every
    )
    tally = Tally()
    play(tmp_path, callbacks=[tally], environment=environment, schedule=schedule, snapshot_every=every)
    assert tally.read == read
    assert tally.ids == [str(i) for i in range(7)]


def test_a_callback_with_nothing_to_say_takes_no_room(tmp_path: Path) -> None:
    class Silent(Callback):
        pass

    past = play(tmp_path, [DONE], [Silent(), Tally()], tasks=1, snapshot_every=1)
    assert past.line(0)["callbacks"] == {"tally": "0"}
    snapshot = json.loads((tmp_path / "snapshots" / "00000001.json").read_text())
    assert snapshot["callbacks"] == {"tally": ["0"]}


def test_a_snapshot_that_was_due_when_the_process_died_is_written_at_once(tmp_path: Path) -> None:
    environment = CounterEnvironment(tasks=2)
    play(tmp_path, callbacks=[Tally()], environment=environment, snapshot_every=2)
    path = tmp_path / "snapshots" / "00000002.json"
    before = path.read_bytes()
    path.unlink()
    play(tmp_path, callbacks=[Tally()], environment=environment, snapshot_every=2)
    assert path.read_bytes() == before


def test_a_view_shows_experience_after_the_instructions() -> None:
    view = ContextView("Rules.", "g", ("One.", "Two."), ())
    assert view.instructions_block == "Rules.\n\nOne.\n\nTwo."
