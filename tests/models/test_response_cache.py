from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, StorageError
from perdure.core.model import ModelSpec, ResponseStore
from perdure.core.parts import Reasoning, Text, ToolCall
from perdure.core.pool import ModelPool
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import TokenLogprob, Usage
from perdure.models.response_cache import ResponseCache
from perdure.models.scripted import ScriptedModel
from perdure.storage.cache_folder import cache_folder
from perdure.storage.files import seal

DIGEST = "0123456789abcdef" * 2
COUNTS = st.integers(0, 10**9)
PARTS = st.one_of(
    st.builds(Text, st.text()),
    st.builds(Reasoning, st.text()),
    st.builds(ToolCall, st.text(), st.text(), st.text()),
)
COMPLETIONS = st.builds(
    Completion,
    st.one_of(st.text(st.characters()), st.lists(PARTS)),
    st.sampled_from(["stop", "length"]),
    st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    st.lists(
        st.builds(
            TokenLogprob,
            st.text(),
            st.floats(max_value=0),
            st.dictionaries(st.text(), st.floats(max_value=0)),
        )
    ).map(tuple),
)
WRITER = """
import sys
from perdure.models.response_cache import ResponseCache
from perdure.core.types import Completion
cache = ResponseCache(sys.argv[1])
for round in range(150):
    for key in range(5):
        digest = f"{key:032x}"
        cache.put(digest, Completion(sys.argv[2] * 5_000))
        found = cache.get(digest)
        assert found is not None and len(found.text) == 5_000 and len(set(found.text)) == 1, found
"""


@given(COMPLETIONS)
def test_what_is_stored_comes_back(completion: Completion) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ResponseCache(folder).put(DIGEST, completion)
        assert ResponseCache(folder).get(DIGEST) == completion


def test_a_miss_is_none_and_the_folders_have_two_levels(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "new" / "cache")
    store: ResponseStore = cache
    assert store.get(DIGEST) is None
    cache.put(DIGEST, Completion("x"))
    [file] = [path for path in cache.folder.rglob("*") if path.is_file()]
    assert file.relative_to(cache.folder).parts[:2] == ("01", "23")


WRONG_FIELDS = {"text": "x", "finish_reason": "s", "usage": {"a": 1}, "tool_calls": [], "logprobs": []}
UNSEALED = [b"", b"{", b"\xff\xfe", b"[]", b"null", b'"x"', b'{"schema": 1}', b"[" * 100_000]
DAMAGES = [
    *UNSEALED,
    *(
        seal({"request": DIGEST, **fields}).encode()
        for fields in (
            {"schema": 99, "completion": {}},
            {"schema": 3, "completion": {"text": 3}},
            {"schema": 3, "completion": WRONG_FIELDS},
            {"schema": 3, "completion": []},
            {"schema": 3},
        )
    ),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_a_miss_and_is_replaced(tmp_path: Path, damage: bytes) -> None:
    cache = ResponseCache(tmp_path)
    cache.put(DIGEST, Completion("x"))
    [file] = tmp_path.rglob("*.json")
    file.write_bytes(damage)
    assert cache.get(DIGEST) is None
    cache.put(DIGEST, Completion("y"))
    assert cache.get(DIGEST) == Completion("y")


def test_a_truncated_entry_is_a_miss_wherever_it_is_cut(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    cache.put(DIGEST, Completion("some text", usage=Usage(1, 2)))
    [file] = tmp_path.rglob("*.json")
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert cache.get(DIGEST) is None


def test_a_flipped_bit_anywhere_is_a_miss(tmp_path: Path) -> None:
    """The call is asked again: no other reply is ever given in its place."""
    cache = ResponseCache(tmp_path)
    cache.put(DIGEST, Completion("Action: add 3", usage=Usage(1, 2)))
    [file] = tmp_path.rglob("*.json")
    whole = file.read_bytes()
    for place, bit in product(range(len(whole)), range(8)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        file.write_bytes(flipped)
        assert cache.get(DIGEST) is None, (place, bit)


def test_the_entry_of_another_request_is_a_miss(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    cache.put(DIGEST, Completion("x"))
    [file] = tmp_path.rglob("*.json")
    other = DIGEST[:4] + "f" * (len(DIGEST) - 4)
    file.rename(file.with_name(f"{other[4:]}.json"))
    assert cache.get(other) is None


def test_processes_write_the_same_entries_and_read_only_whole_ones(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 5


def test_a_digest_cannot_leave_the_folder(tmp_path: Path) -> None:
    for wrong in ("../../../etc/passwd", "", "0123", "ABCDEF0123456789"):
        with pytest.raises(ValueError, match="hexadecimal"):
            ResponseCache(tmp_path).get(wrong)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/var/cache/me"}, Path("/var/cache/me/perdure/responses")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/perdure/responses"),
        ({}, Path.home() / ".cache/perdure/responses"),
    ],
)
def test_the_default_folder(environment: dict[str, str], expected: Path) -> None:
    assert cache_folder("responses", environment) == expected


def test_the_default_folder_is_read_when_a_cache_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ResponseCache().folder == tmp_path / "perdure" / "responses"


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot use"):
        ResponseCache(tmp_path / "file")
    cache = ResponseCache(tmp_path / "cache")
    os.rmdir(cache.folder)
    cache.folder.write_text("a file is in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        cache.put(DIGEST, Completion("x"))
    with pytest.raises(StorageError, match="cannot be read"):
        cache.get(DIGEST)


def test_a_pool_asks_the_model_once_for_each_draw(tmp_path: Path) -> None:
    models: list[ScriptedModel] = []

    def build(spec: ModelSpec) -> ScriptedModel:
        models.append(ScriptedModel(["a", "b", "c"]))
        return models[-1]

    def texts(count: int) -> list[Any]:
        pool = ModelPool({"m": ModelSpec("scripted")}, build, cache=ResponseCache(tmp_path))
        handle = pool.caller("agent", "m")
        outcomes = handle.generate([Request((Message("user", "x"),))] * count)
        return [outcome.text for outcome in outcomes if isinstance(outcome, Completion)]

    assert texts(2) == ["a", "b"]
    assert texts(2) == ["a", "b"]
    assert texts(3) == ["a", "b", "a"]
    assert [model.calls for model in models] == [2, 1]
