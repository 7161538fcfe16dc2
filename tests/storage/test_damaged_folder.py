"""Damage of a run folder: found where it matters, told in one line, and never taken for a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.core.errors import RunFolderError, StorageError
from perdure.core.types import JSON
from perdure.storage.files import is_sealed, seal, seal_lines, unseal_lines
from perdure.storage.run_reader import RunReader
from perdure.storage.snapshots import Snapshot, Snapshots
from tests.core.playing import play, step_to_goal

DEEP = b"[" * 100_000


def finished(folder: Path, tasks: int = 3) -> RunReader:
    return play(folder, step_to_goal, tasks=tasks)


def lines_of(folder: Path, name: str) -> list[bytes]:
    return (folder / name).read_bytes().splitlines()


def write_lines(folder: Path, name: str, lines: list[bytes]) -> None:
    (folder / name).write_bytes(b"\n".join(lines) + b"\n")


def everything(reader: RunReader) -> None:
    """Read all that a folder holds."""
    list(reader.records())
    list(reader)
    for index in range(len(reader)):
        list(reader.calls(index))
    list(reader.ledger())


def complaint(read: Callable[[], object]) -> str:
    with pytest.raises(RunFolderError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(
    st.dictionaries(st.text(), st.one_of(st.integers(), st.text()), min_size=1),
    st.data(),
)
def test_a_sealed_line_tells_every_changed_byte(fields: dict[str, Any], data: st.DataObject) -> None:
    line = seal(fields).encode()
    assert is_sealed(line)
    assert is_sealed(line + b"\n")
    assert {key: value for key, value in json.loads(line).items() if key != "crc"} == {
        key: value for key, value in fields.items() if key != "crc"
    }
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    changed = line[:place] + bytes([other]) + line[place + 1 :]
    assert not is_sealed(changed)
    assert not is_sealed(line[:place])


def test_one_changed_letter_in_the_middle_is_told(tmp_path: Path) -> None:
    finished(tmp_path)
    lines = lines_of(tmp_path, "sessions.jsonl")
    assert lines[1].count(b'"correct"') == 1
    write_lines(tmp_path, "sessions.jsonl", [lines[0], lines[1].replace(b'"turns":', b'"turns":1'), lines[2]])
    reader = RunReader(tmp_path)
    for read in (lambda: list(reader.records()), lambda: reader[1], lambda: finished(tmp_path)):
        assert complaint(read) == (
            f"line 2 of {str(tmp_path / 'sessions.jsonl')!r} is damaged: "
            "it is not what was written: its crc differs"
        )
    assert reader[0].record.correct
    assert reader[2].record.correct


def test_one_changed_letter_in_the_last_line_is_owed_again(tmp_path: Path) -> None:
    finished(tmp_path)
    before = (tmp_path / "sessions.jsonl").read_bytes()
    lines = before.splitlines()
    write_lines(tmp_path, "sessions.jsonl", [*lines[:2], lines[2].replace(b'"turns":', b'"turns":1')])
    assert len(RunReader(tmp_path)) == 2, "a reader passes it over"
    reader = finished(tmp_path)
    assert (tmp_path / "sessions.jsonl").read_bytes() == before
    assert [line["index"] for line in reader.ledger()] == [0, 1, 2]


@pytest.mark.parametrize("garbage", [b"\0\0\0", b"{]", b"5", b"", b"{}", DEEP])
def test_garbage_in_the_middle_is_told(tmp_path: Path, garbage: bytes) -> None:
    finished(tmp_path)
    first, _, third = lines_of(tmp_path, "sessions.jsonl")
    write_lines(tmp_path, "sessions.jsonl", [first, garbage, third])
    reader = RunReader(tmp_path)
    place = f"line 2 of {str(tmp_path / 'sessions.jsonl')!r} is damaged: "
    assert complaint(lambda: list(reader.records())).startswith(place)
    assert complaint(lambda: finished(tmp_path)).startswith(place)


def test_a_line_that_is_missing_or_doubled_is_told(tmp_path: Path) -> None:
    finished(tmp_path)
    first, second, third = lines_of(tmp_path, "sessions.jsonl")
    for lines, told in (
        ([first, third], "it holds session 2 instead of 1"),
        ([first, second, second, third], "it holds session 1 instead of 2"),
    ):
        write_lines(tmp_path, "sessions.jsonl", lines)
        assert complaint(lambda: list(RunReader(tmp_path).records())).endswith(told)
        assert "is damaged: it holds session " in complaint(lambda: finished(tmp_path))


TEXT_KEYS = ["task", "status", "outcome", "finish_reason", "goal"]
NUMBER_KEYS = ["index", "repeat", "reward", "turns"]
NESTED_KEYS = ["detail", "experience", "history", "interactions", "calls", "trace", "callbacks"]
WRONG: list[JSON] = [None, [5], [{}], "zz", {"a": 1}, -1.5]


@pytest.mark.parametrize("key", [*TEXT_KEYS, *NUMBER_KEYS, *NESTED_KEYS])
def test_a_line_of_another_shape_is_told(tmp_path: Path, key: str) -> None:
    finished(tmp_path, 2)
    first, second = lines_of(tmp_path, "sessions.jsonl")
    fields = json.loads(first)
    del fields["crc"]
    shapes = [{name: value for name, value in fields.items() if name != key}]
    if key != "trace":
        shapes += [{**fields, key: wrong} for wrong in WRONG]
    complaints = []
    for shape in shapes:
        write_lines(tmp_path, "sessions.jsonl", [seal(shape).encode(), second])
        try:
            everything(RunReader(tmp_path))
        except RunFolderError as error:
            complaints.append(str(error))
    assert complaints[0].endswith(f"it has no key {key!r}")
    assert all(told.startswith("line 1 of ") and "\n" not in told for told in complaints)
    assert key == "trace" or len(complaints) >= 5, "at most one of the values may be a right one"


@pytest.mark.parametrize("part", ["interactions", "calls"])
def test_a_renamed_key_inside_a_line_is_told(tmp_path: Path, part: str) -> None:
    finished(tmp_path, 2)
    first, second = lines_of(tmp_path, "sessions.jsonl")
    for key in json.loads(first)[part][0]:
        fields = json.loads(first)
        del fields["crc"]
        fields[part][0][f"{key}s"] = fields[part][0].pop(key)
        write_lines(tmp_path, "sessions.jsonl", [seal(fields).encode(), second])
        told = complaint(lambda: everything(RunReader(tmp_path)))
        assert told.startswith("line 1 of ")
        assert repr(key) in told


def test_a_newer_schema_is_refused_and_not_cut_off(tmp_path: Path) -> None:
    finished(tmp_path, 1)
    path = tmp_path / "sessions.jsonl"
    fields = json.loads(path.read_text())
    for line in (json.dumps({**fields, "v": 3}), seal({**fields, "v": 3})):
        path.write_text(line + "\n")
        for read in (lambda: list(RunReader(tmp_path).records()), lambda: finished(tmp_path, 1)):
            assert complaint(read).endswith("has schema 3, this version reads 2")
        assert path.read_text() == line + "\n"


LOST = [b"\0\0", b"{]", b"5", b"", b"{}", b'{"index":1}', b"two\nlines\nof it", DEEP]


@pytest.mark.parametrize("garbage", [*LOST, None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_lost_ledger_line_is_counted_and_stops_nothing(
    tmp_path: Path, garbage: bytes | None, place: int
) -> None:
    config = {"environment": {"name": "counter", "tasks": 3}, "agent": {"kind": "oracle"}}
    run = perdure.run(config, out=tmp_path / "run", sets=["execution.limit=3"])
    assert run.summary().unaccounted == 0
    lines = lines_of(run.folder, "ledger.jsonl")
    lines[place : place + 1] = [] if garbage is None else [garbage]
    write_lines(run.folder, "ledger.jsonl", lines)
    for again in (perdure.load(run.folder), perdure.run(config, out=run.folder)):
        assert [line["index"] for line in again.reader.ledger()] == [i for i in range(3) if i != place]
        summary = again.summary()
        assert (summary.sessions, summary.unaccounted) == (3, 1)


@pytest.mark.parametrize("garbage", [*LOST, None])
def test_calls_find_their_usage_past_a_lost_ledger_line(tmp_path: Path, garbage: bytes | None) -> None:
    whole = finished(tmp_path)
    usages = [[call.outcome for call in whole.calls(index)] for index in range(3)]
    lines = lines_of(tmp_path, "ledger.jsonl")
    lines[1:2] = [] if garbage is None else [garbage]
    write_lines(tmp_path, "ledger.jsonl", lines)
    reader = RunReader(tmp_path)
    found = [[call.outcome for call in reader.calls(index)] for index in range(3)]
    assert (found[0], found[2]) == (usages[0], usages[2])
    assert found[1] != usages[1], "its usage is lost"


@pytest.mark.parametrize("garbage", LOST)
def test_a_garbled_end_of_the_ledger_is_cut_off(tmp_path: Path, garbage: bytes) -> None:
    finished(tmp_path)
    path = tmp_path / "ledger.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + garbage + b"\n")
    finished(tmp_path)
    assert path.read_bytes() == before


def test_a_text_is_checked_against_its_address(tmp_path: Path) -> None:
    finished(tmp_path)
    path = tmp_path / "blobs" / "texts.jsonl"
    path.write_bytes(path.read_bytes().replace(b"counter", b"counted"))
    told = complaint(lambda: everything(RunReader(tmp_path)))
    assert "it is not the text of this address" in told
    assert str(path) in told


@pytest.mark.parametrize("name", ["sessions.jsonl", "ledger.jsonl", "blobs/texts.jsonl", "metrics.json"])
def test_a_directory_in_place_of_a_file_is_told(tmp_path: Path, name: str) -> None:
    config = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}
    run = perdure.run(config, out=tmp_path / "run")
    path = run.folder / name
    path.unlink()
    path.mkdir()

    def read() -> None:
        again = perdure.load(run.folder)
        everything(again.reader)
        assert again.metrics

    assert str(path) in complaint(read)
    with pytest.raises((RunFolderError, StorageError)) as caught:
        perdure.run(config, out=run.folder)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"5", b"{}", b'{"environment":5}', b'{"environment":{"a":"b"}}', b"\xff", DEEP]
)
def test_metrics_of_another_shape_are_told(tmp_path: Path, body: bytes) -> None:
    config = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}
    run = perdure.run(config, out=tmp_path / "run")
    path = run.folder / "metrics.json"
    path.write_bytes(body)
    assert complaint(lambda: perdure.load(run.folder).metrics).startswith(f"{str(path)!r} cannot be read: ")
    assert perdure.run(config, out=run.folder).metrics, "written anew"


@pytest.mark.parametrize("key", ["hash", "base", "planned", "identity", "environment_version"])
def test_a_key_missing_in_what_was_recorded_is_named(tmp_path: Path, key: str) -> None:
    config = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}
    run = perdure.run(config, out=tmp_path / "run")
    path = run.folder / "config.toml"
    text = unseal_lines(path.read_bytes())
    assert text is not None
    assert key in text
    changed = text.replace(f"\n{key} =", "\nx =").replace(f"[recorded.{key}", "[recorded.x")
    path.write_text(changed)
    assert "its crc differs" in complaint(lambda: perdure.load(run.folder))
    path.write_text(seal_lines(changed))
    told = complaint(lambda: perdure.load(run.folder).environment_version)
    assert str(path) in told
    assert key in told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "it has no table [recorded]"),
        (b"recorded = 5", "it has no table [recorded]"),
        (b"[recorded]\nhash = 5", "recorded.hash: cannot be 5"),
        (b"a = " + DEEP, ""),
        (b"\xff", ""),
        (b"not sealed", ""),
    ],
)
def test_a_config_of_another_shape_is_told(tmp_path: Path, body: bytes, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(seal_lines(body.decode("latin-1")).encode())
    assert complaint(lambda: perdure.load(tmp_path)).startswith(f"{str(path)!r} cannot be read: {told}")


def test_a_changed_snapshot_is_passed_over(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    kept = {tasks: Snapshot(tasks, {"x": "abc"}) for tasks in (2, 4)}
    for snapshot in kept.values():
        snapshots.write(snapshot)
    path = tmp_path / "00000004.json"
    path.write_text(path.read_text().replace("abc", "abd"))
    assert snapshots.newest(9) == kept[2]
    shapes: list[dict[str, JSON]] = [
        {"tasks": "4"},
        {"tasks": -1},
        {"tasks": 1.5},
        {"callbacks": []},
        {"history_items": 5},
        {"v": 3},
    ]
    for wrong in shapes:
        path.write_text(seal({"v": 2, "tasks": 4, "callbacks": {}, "history_items": None, **wrong}))
        assert snapshots.newest(9) == kept[2]
    path.unlink()
    path.mkdir()
    assert snapshots.newest(9) == kept[2]
