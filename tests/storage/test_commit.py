"""What a commit writes, cuts and leaves; and what an opened folder reads."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from perdure.core.charges import Charge, Times
from perdure.core.errors import RunFolderError, StorageError
from perdure.core.history import InteractionHistory
from perdure.core.session import Session
from perdure.core.types import JSON, Message, SessionStatus
from perdure.core.usage import Usage
from perdure.environments.counter import CounterEnvironment
from perdure.storage import files
from perdure.storage.run_reader import RunReader
from perdure.storage.run_store import RunStore
from perdure.storage.session_index import SessionIndex
from tests.core.playing import play
from tests.storage.stores import Tally, ended, finished, finished_task, opened


def test_the_ledger_says_who_paid_what_and_when(tmp_path: Path) -> None:
    charge = Charge(1, "agent", 7, "m", "asked", Usage(10, 5, 4, 3), 0.25, 1.7e9)
    times = Times(started=1.6e9, seconds=2.5, resumes=3, restarts=1, divergences=1)
    with opened(tmp_path) as store:
        store.commit([finished_task(store, ended("t"), charges=(charge,), times=times)])
    (line,) = RunReader(tmp_path).ledger()
    assert line["calls"] == [[1, "agent", 7, "m", "asked", 10, 5, 4, 3, 0.25, 1.7e9]]
    assert (line["task"], line["started"], line["seconds"]) == ("t", 1.6e9, 2.5)
    assert (line["resumes"], line["restarts"], line["divergences"], line["damaged"]) == (3, 1, 1, 0)
    assert "0.25" not in (tmp_path / "sessions.jsonl").read_text(), "no clock times in the committed record"


def test_a_log_is_deleted_with_the_commit_of_its_task(tmp_path: Path) -> None:
    finished(tmp_path)
    assert list((tmp_path / "calls").iterdir()) == []


def test_a_log_of_a_committed_task_that_was_left_is_deleted(tmp_path: Path) -> None:
    finished(tmp_path)
    for name in ("1.jsonl", "3.jsonl", "1.aside-0.jsonl"):
        (tmp_path / "calls" / name).write_text("")
    with opened(tmp_path):
        left = {path.name for path in (tmp_path / "calls").iterdir()}
    assert left == {"3.jsonl", "1.aside-0.jsonl"}


def test_several_tasks_are_committed_together_and_in_order(tmp_path: Path) -> None:
    with opened(tmp_path / "group") as store:
        store.commit([finished_task(store, ended(task, index)) for index, task in enumerate("abc")])
        store.commit([])
        with pytest.raises(ValueError, match="session 5 cannot be committed as number 3"):
            store.commit([finished_task(store, ended("d", 5))])
        store.commit([finished_task(store, ended("d", 3))])
        assert [record.task_id for record in store.past.records()] == list("abcd")
    with opened(tmp_path / "serial") as store:
        for index, task in enumerate("abcd"):
            store.commit([finished_task(store, ended(task, index))])
    for name in ("sessions.jsonl", "blobs/texts.jsonl", "index.jsonl"):
        assert (tmp_path / "group" / name).read_bytes() == (tmp_path / "serial" / name).read_bytes()


@pytest.mark.parametrize("failing", ["blobs", "ledger", "sessions"])
def test_a_commit_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    files_of = {name: tmp_path / f"{name}.jsonl" for name in ("ledger", "sessions")}
    files_of["blobs"] = tmp_path / "blobs" / "texts.jsonl"
    with opened(tmp_path) as store:
        store.commit([finished_task(store, ended("a"))])
        before = {path: path.read_bytes() for path in files_of.values()}
        session = Session("b", index=1)
        session.start("a goal of its own", InteractionHistory([Message("user", "hello")]))
        session.finish(SessionStatus.COMPLETED)
        session.conclude()
        task = finished_task(store, session)
        write_at = files.write_at

        def full(descriptor: int, data: bytes, offset: int) -> int:
            if os.path.samestat(os.fstat(descriptor), files_of[failing].stat()):
                raise OSError(errno.ENOSPC, "No space left on device")
            return write_at(descriptor, data, offset)

        monkeypatch.setattr(files, "write_at", full)
        with pytest.raises(StorageError, match="No space left"):
            store.commit([task])
        monkeypatch.undo()
        assert {path: path.read_bytes() for path in files_of.values()} == before
        store.commit([task])
        assert store.past[1].goal == "a goal of its own"


@pytest.mark.parametrize("failing", ["blobs/texts.jsonl", "ledger.jsonl"])
def test_a_commit_that_failed_leaves_nothing_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    with opened(tmp_path) as store:
        session = Session("given up", index=0)
        session.start("a goal of its own", InteractionHistory([Message("user", "hello")]))
        session.finish(SessionStatus.COMPLETED)
        session.conclude()
        write_at = files.write_at

        def full(descriptor: int, data: bytes, offset: int) -> int:
            if os.path.samestat(os.fstat(descriptor), (tmp_path / failing).stat()):
                raise OSError(errno.ENOSPC, "No space left on device")
            return write_at(descriptor, data, offset)

        monkeypatch.setattr(files, "write_at", full)
        with pytest.raises(StorageError):
            store.commit([finished_task(store, session)])
        monkeypatch.undo()
        store.commit([finished_task(store, ended("another"))])
        assert "a goal of its own" not in (tmp_path / "blobs" / "texts.jsonl").read_text()
        assert (store.past.line(0)["task"], store.past.line(0)["blobs"]) == (
            "another",
            (tmp_path / "blobs" / "texts.jsonl").stat().st_size,
        )


def test_texts_beyond_the_last_commit_are_cut_and_missing_ones_told(tmp_path: Path) -> None:
    finished(tmp_path)
    path = tmp_path / "blobs" / "texts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'["0123456789abcdef0123456789abcdef","uncommitted"]\n')
    finished(tmp_path)
    assert path.read_bytes() == whole
    path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    with pytest.raises(RunFolderError, match=r"texts.jsonl' is damaged: it has \d+ bytes, its sessions need"):
        finished(tmp_path)
    path.unlink()
    with pytest.raises(RunFolderError, match="is damaged: it has 0 bytes"):
        finished(tmp_path)


def test_a_restore_reads_few_lines_beside_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = CounterEnvironment(tasks=40)
    play(tmp_path, callbacks=[Tally()], environment=environment, snapshot_every=5)
    read: list[int] = []
    line = RunReader.line

    def counting(reader: RunReader, index: int) -> dict[str, JSON]:
        read.append(range(len(reader))[index])
        return line(reader, index)

    monkeypatch.setattr(RunReader, "line", counting)
    scanned: list[bytes] = []
    monkeypatch.setattr(SessionIndex, "_add", lambda index, line: scanned.append(line))
    with closing(RunStore(tmp_path, snapshot_every=5, fsync=False)) as store:
        snapshot, deltas = store.state()
    assert (snapshot.tasks, deltas) == (40, [])
    assert len(read) <= 5
    assert scanned == []


@pytest.mark.parametrize("change", ["gone", "short", "garbage", "flipped", "foreign"])
def test_an_index_that_is_wrong_is_rebuilt(tmp_path: Path, change: str) -> None:
    finished(tmp_path, 4)
    path = tmp_path / "index.jsonl"
    before = path.read_bytes()
    lines = before.splitlines(keepends=True)
    if change == "gone":
        path.unlink()
    elif change == "foreign":
        finished(tmp_path / "other", 3)
        path.write_bytes((tmp_path / "other" / "index.jsonl").read_bytes())
    else:
        told = {"short": lines[:2], "garbage": [lines[0], b"{}\n", *lines[2:]]}
        told["flipped"] = [lines[0], lines[1].replace(b'"at":', b'"At":'), *lines[2:]]
        path.write_bytes(b"".join(told[change]))
    assert [record.task_id for record in RunReader(tmp_path).records()] == list("0123")
    finished(tmp_path, 4)
    assert path.read_bytes() == before


def test_an_index_of_more_than_the_sessions_is_rebuilt(tmp_path: Path) -> None:
    finished(tmp_path, 4)
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert len(RunReader(tmp_path)) == 2


def test_a_reader_refreshes_from_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        reader = RunReader(tmp_path)
        for index, task in enumerate("ab"):
            store.commit([finished_task(store, ended(task, index))])
            assert len(reader) == index
            reader.refresh()
            assert reader[index].record.task_id == task
        with (tmp_path / "sessions.jsonl").open("ab") as file:
            file.write(b'{"v":2,"torn')
        reader.refresh()
        assert (len(reader), reader.committed.damaged_end) == (2, True)
