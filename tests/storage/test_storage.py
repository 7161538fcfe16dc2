from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.core.errors import RunFolderError, StorageError
from perdure.core.types import text_digest
from perdure.storage import blobs, files
from perdure.storage.blobs import BlobReader, BlobWriter
from perdure.storage.files import AppendLog, FolderLock, line_offsets, replace_atomically
from tests.core.child import outcome_in_child
from tests.e2e.learner import config

TEXTS = st.text(st.characters(codec=None, exclude_categories=()))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AppendLog]:
    log = AppendLog(tmp_path / "deep" / "log.jsonl")
    yield log
    log.close()


def test_lines_are_appended_and_their_offsets_returned(log: AppendLog) -> None:
    offsets = [log.append("one"), log.append("", sync=True), log.append("three")]
    log.sync()
    assert log.path.read_bytes() == b"one\n\nthree\n"
    assert offsets == [0, 4, 5] == list(line_offsets(log.path))
    assert log.end == 11
    log.truncate(4)
    assert log.append("two") == 4
    assert log.path.read_bytes() == b"one\ntwo\n"


@given(
    st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=5), st.binary(max_size=9)
)
def test_a_torn_last_line_is_dropped_when_the_file_is_opened(lines: list[bytes], torn: bytes) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(whole + torn.replace(b"\n", b""))
        assert len(list(line_offsets(path))) == len(lines), "a reader does not see it either"
        log = AppendLog(path)
        assert path.read_bytes() == whole
        assert log.end == len(whole)
        log.close()
        log.close()


def test_a_torn_line_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * (3 << 20))
    AppendLog(path).close()
    assert path.read_bytes() == b"first\n"
    path.write_bytes(b"x" * (3 << 20))
    AppendLog(path).close()
    assert path.read_bytes() == b""


def test_offsets_across_chunks_and_of_no_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert list(line_offsets(path)) == []
    lines = [b"x" * size + b"\n" for size in (0, 1, (1 << 20) - 1, 1 << 20, 5)]
    path.write_bytes(b"".join(lines))
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    assert list(line_offsets(path)) == starts


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_append_leaves_nothing_behind(
    log: AppendLog, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    log.append("kept")
    write_at = files.write_at

    def half(fd: int, data: bytes, offset: int) -> int:
        if len(data) < 6:
            raise failure
        return write_at(fd, data[:4], offset)

    monkeypatch.setattr(files, "write_at", half)
    expected = StorageError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        log.append("lost it")
    monkeypatch.undo()
    assert log.path.read_bytes() == b"kept\n"
    log.append("next")
    assert log.path.read_bytes() == b"kept\nnext\n"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.json"
    replace_atomically(path, "old é")
    replace_atomically(path, "new", sync=False)
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["file.json"]


def test_a_replacement_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    replace_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_atomically(path, "new \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.json"]
    with pytest.raises(StorageError, match=r"cannot write '.*inside': .*; what was saved"):
        replace_atomically(path / "inside", "x")


def test_the_lock_keeps_a_second_process_out_until_its_holder_dies(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from perdure.storage.files import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(RunFolderError, match="is in use by another process"):
            FolderLock(tmp_path)
        with pytest.raises(RunFolderError, match="is in use by another process"):
            perdure.run(config(1), out=tmp_path)
        holder.kill()
    lock = FolderLock(tmp_path)
    with pytest.raises(RunFolderError, match="in use"):
        FolderLock(tmp_path)
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_a_folder_that_could_not_be_opened_is_not_left_locked(tmp_path: Path) -> None:
    perdure.run(config(1), out=tmp_path / "run")
    (tmp_path / "run" / "ledger.jsonl").unlink()
    (tmp_path / "run" / "ledger.jsonl").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"ledger\.jsonl"):
        perdure.run(config(1), out=tmp_path / "run")
    (tmp_path / "run" / "ledger.jsonl").rmdir()
    assert len(perdure.run(config(1), out=tmp_path / "run").sessions) == 1


@given(st.lists(TEXTS, max_size=8))
def test_texts_are_stored_once_and_read_back(texts: list[str]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        writer = BlobWriter(folder)
        digests = [writer.put(text) for text in texts]
        writer.flush()
        for text, digest in zip(texts, digests, strict=True):
            assert writer.put(text, digest) == digest == text_digest(text)
        writer.flush()
        writer.close()
        reader = BlobReader(folder)
        assert [reader.get(digest) for digest in digests] == texts
        assert len(list(line_offsets(folder / "texts.jsonl"))) == len(set(texts))


def test_a_reader_sees_what_was_written_after_it_looked(tmp_path: Path) -> None:
    writer, reader = BlobWriter(tmp_path), BlobReader(tmp_path)
    digest = writer.put("later")
    with pytest.raises(RunFolderError, match="does not hold the text"):
        reader.get(digest)
    writer.flush()
    assert reader.get(digest) == "later"
    writer.close()


def test_a_text_beyond_what_is_remembered_is_written_again_and_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "_REMEMBERED", 2)
    writer = BlobWriter(tmp_path)
    for text in ("a", "b", "c", "a"):
        writer.put(text)
        writer.flush()
        writer.trim()
    writer.close()
    assert len(list(line_offsets(tmp_path / "texts.jsonl"))) == 4
    assert BlobReader(tmp_path).get(text_digest("a")) == "a"


def test_a_damaged_text_is_an_error_for_those_who_ask_for_it(tmp_path: Path) -> None:
    writer = BlobWriter(tmp_path)
    first, second, third = (writer.put(text) for text in ("first", "second", "third"))
    writer.flush()
    writer.close()
    path = tmp_path / "texts.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([b"\xffgarbage", lines[1][:-3], lines[2]]) + b"\n")
    reader = BlobReader(tmp_path)
    assert reader.get(third) == "third"
    with pytest.raises(RunFolderError, match=f"does not hold the text '{first}'"):
        reader.get(first)
    with pytest.raises(RunFolderError, match=f"the text '{second}' in .* is damaged"):
        reader.get(second)


@needs_fork
@pytest.mark.parametrize("room", [0, 300, 1500, 4000, 15000])
def test_a_full_disk_loses_nothing_that_was_saved(tmp_path: Path, room: int) -> None:
    import resource

    expected = perdure.run(config(), out=tmp_path / "whole")

    def cramped() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        perdure.run(config(), out=tmp_path / "run")

    told = outcome_in_child(cramped)
    assert told.startswith("StorageError: cannot write "), told
    assert "File too large; what was saved is intact, run the same command again" in told
    assert "\n" not in told
    saved = tmp_path / "run" / "sessions.jsonl"
    before = saved.read_bytes() if saved.exists() else b""
    whole = (expected.folder / "sessions.jsonl").read_bytes()
    assert whole.startswith(before)
    assert bool(before) == (room == 15000)
    run = perdure.run(config(), out=tmp_path / "run")
    assert saved.read_bytes() == whole
    assert run.metrics == expected.metrics
    assert len(list(run.reader.ledger())) == len(run.sessions)


def others_may_read(path: Path) -> bool:
    """Whether an account without rights gets through to a file."""
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


@needs_fork
@pytest.mark.skipif(
    os.name == "posix" and os.geteuid() == 0 and not others_may_read(Path(perdure.__file__)),
    reason="perdure lies in a private folder, which an account without rights cannot read plug-ins from",
)
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    there = Path(mkdtemp())
    try:
        there.chmod(0o755)
        perdure.run(config(), sets=["execution.limit=2"], out=there / "run")
        before = (there / "run" / "sessions.jsonl").read_bytes()

        def powerless() -> None:
            if os.getuid() == 0:
                os.setgroups([])
                os.setuid(65534)
            else:
                (there / "run").chmod(0o555)
                (there / "run" / ".lock").chmod(0o444)
            perdure.run(config(), out=there / "run")

        told = outcome_in_child(powerless)
        assert told.startswith("StorageError: cannot write "), told
        assert "Permission denied" in told
        assert (there / "run" / "sessions.jsonl").read_bytes() == before
        if os.getuid() == 0:
            there.chmod(0o700)
            told = outcome_in_child(powerless)
            assert told.split(":")[0] in ("StorageError", "RunFolderError"), told
            assert "Permission denied" in told
    finally:
        (there / "run").chmod(0o755)
        shutil.rmtree(there)


def test_the_first_sync_makes_a_new_files_name_durable_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    with closing(AppendLog(tmp_path / "own.jsonl")) as log:
        log.append("one")
        assert synced == []
        log.append("two", sync=True)
        log.append("three", sync=True)
        assert synced == [tmp_path]
    with closing(AppendLog(tmp_path / "named.jsonl", named=True)) as log:
        log.append("one", sync=True)
    assert synced == [tmp_path], "whoever opened it sees to its name"


def test_threads_that_share_a_reader_find_every_text(tmp_path: Path) -> None:
    """Without a lock two of them index at once, and what they miscount is lost for as long as it lives."""
    texts = [f"text {number}" * 3 for number in range(3000)]
    writer = BlobWriter(tmp_path)
    digests = [writer.put(text) for text in texts]
    writer.flush()
    writer.close()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            reader, together = BlobReader(tmp_path), Barrier(8)

            def ask(number: int, reader: BlobReader = reader, together: Barrier = together) -> list[str]:
                together.wait()
                return [reader.get(digest) for digest in digests[number::300]]

            with ThreadPoolExecutor(8) as threads:
                found = list(threads.map(ask, range(8)))
            assert found == [texts[number::300] for number in range(8)]
    finally:
        sys.setswitchinterval(interval)
