"""What makes two runs the same: every declared parameter and file counts, operational ones do not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError, ModelUnavailable, RunFolderError
from perdure.core.types import Message, Request
from perdure.experiment import file_digests
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.file_digests import digest_of
from tests.core.playing import step_to_goal
from tests.core.sealed import edit_config
from tests.models.fake_provider import Answer, FakeProvider, Received, completion, error

COUNTER: dict[str, Any] = {"environment": {"name": "counter", "tasks": 2}}
SCRIPTED = {"provider": "scripted", "replies": ["Action: done"], "cycle": True}
SERVED = {"provider": "openai_compatible", "model": "m", "max_tokens": 100}


def identity(base: Path | None = None, **changes: Any) -> dict[str, Any]:
    config = load_config({**COUNTER, "models": {"default": SCRIPTED}, **changes})
    with Experiment(config, base=base) as experiment:
        return experiment.identity


def test_execution_is_no_part_and_everything_else_is() -> None:
    plain = identity()
    execution = {"out": "x", "limit": 1, "repeat": 2, "snapshot_every": 1, "cache": True, "fsync": False}
    assert identity(execution={**execution, "on_divergence": "keep"}) == plain
    assert identity(seed=0) == plain, "a default that is written down changes nothing"
    assert identity(callbacks=[{"name": "progress"}]) == plain, "who only watches"
    others = [
        identity(seed=1),
        identity(name="other"),
        identity(environment={"name": "counter", "tasks": 3}),
        identity(agent={"kind": "oracle"}),
        identity(agent={"sampling": {"temperature": 0.1}}),
        identity(agent={"strategy": {"name": "sliding_window", "turns": 2}}),
        identity(models={"m": SCRIPTED}),
        identity(callbacks=[{"name": "abort_on_agent_errors"}]),
        identity(callbacks=[{"name": "abort_on_agent_errors", "tolerance": 3}]),
        identity(callbacks=[{"name": "abort_on_agent_errors", "label": "mine"}]),
        identity(limits={"max_turns": 3}),
        identity(tasks=["0"]),
        identity(stateless=True),
    ]
    assert all(one != two for i, one in enumerate([plain, *others]) for two in others[i:])


def test_an_agent_without_a_model_has_no_strategy_in_its_identity() -> None:
    oracle = identity(agent={"kind": "oracle"})
    changed = {"kind": "oracle", "strategy": {"name": "memory"}, "sampling": {"temperature": 1.0}}
    assert identity(agent=changed) == oracle


OPERATIONAL: dict[str, Any] = {
    "base_url": "http://127.0.0.1:9/v1",
    "api_key_env": "ANOTHER",
    "timeout": 7.0,
    "max_concurrency": 3,
    "max_retries": 1,
    "max_wait_seconds": 5.0,
    "first_pause": 0.1,
    "price": {"prompt": 1.0, "completion": 2.0},
}
DECLARED = {
    "model": "n",
    "max_tokens": 101,
    "extra_body": {"a": 1},
    "token_counting": "vllm",
    "headers": {"A": "b"},
}


@pytest.mark.parametrize("key", [*OPERATIONAL, *DECLARED])
def test_operational_parameters_of_a_model_do_not_count_and_the_others_do(key: str) -> None:
    value = {**OPERATIONAL, **DECLARED}[key]
    same = identity(models={"m": SERVED}) == identity(models={"m": {**SERVED, key: value}})
    assert same == (key in OPERATIONAL)


@pytest.mark.parametrize(
    ("environment", "key", "value", "counts"),
    [
        ("database", "engine_password_env", "OTHER", False),
        ("database", "query_timeout", 4.0, True),
        ("database", "max_observation_chars", 400, True),
        ("knowledge_graph", "timeout_seconds", 4.0, True),
    ],
)
def test_parameters_of_environments(environment: str, key: str, value: Any, counts: bool) -> None:
    plain = identity(environment={"name": environment})
    assert (identity(environment={"name": environment, key: value}) != plain) == counts


def competent(received: Received) -> Answer:
    messages = tuple(Message("user", message["content"]) for message in received.body["messages"])
    return Answer(completion(step_to_goal(Request(messages))))


@pytest.mark.parametrize("key", list(OPERATIONAL))
def test_a_run_goes_on_after_an_operational_change_and_asks_nothing_twice(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANOTHER", "k")
    answers = iter([None] * 3)

    def fail_later(received: Received) -> Answer:
        return competent(received) if next(answers, 1) is None else Answer(error("no"), 402)

    model = {**SERVED, "first_pause": 0.001}
    with FakeProvider(then=fail_later) as broken, FakeProvider(then=competent) as server:
        config = {**COUNTER, "models": {"default": {**model, "base_url": broken.url}}}
        with pytest.raises(ModelUnavailable):
            perdure.run(config, out=tmp_path / "run")
        config["models"] = {"default": {**model, "base_url": server.url}}
        whole = perdure.run(config, out=tmp_path / "whole")
        asked = len(server.requests)
        changed = server.url if key == "base_url" else OPERATIONAL[key]
        config["models"]["default"].update({"base_url": server.url, key: changed})
        resumed = perdure.run(config, out=tmp_path / "run")
        assert len(server.requests) == asked + asked - 3
    assert (resumed.folder / "sessions.jsonl").read_bytes() == (whole.folder / "sessions.jsonl").read_bytes()
    told = resumed.config.models["default"].price
    assert (told is not None) == (key == "price"), "the folder says how it was last run"


MODEL = "from helper import VERB\n\ndef reply(request):\n    return f'Action: {VERB}'\n"
WORLD = """
from pathlib import Path
from typing import Annotated
from perdure import FromFile
from perdure.environments.counter import CounterEnvironment

class World(CounterEnvironment):
    def __init__(
        self,
        weights: Path | None = None,
        tools: list[Annotated[object, FromFile]] = [],
        names: list[str] = [],
    ):
        super().__init__(tasks=2)
        self.tools = tools
"""
FILES = {
    "script.py": MODEL,
    "helper.py": "VERB = 'done'\n",
    "world.py": WORLD,
    "tools.py": "def first(): ...\n\ndef second(): ...\n",
    "weights.bin": "0.1 0.2",
    "folder/a.txt": "a",
    "folder/deep/b.txt": "b",
}
PLUGGED: dict[str, Any] = {
    "environment": {
        "name": "world.py:World",
        "weights": "weights.bin",
        "tools": ["tools.py:first", "tools.py:second"],
    },
    "models": {"default": {"provider": "scripted", "replies": "script.py:reply"}},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def run_in(project: Path, out: Path, **changes: Any) -> perdure.Run:
    config = load_config({**PLUGGED, **changes}, values={"execution.out": str(out)})
    with Experiment(config, base=project) as experiment:
        experiment.run()
    return perdure.load(out)


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("script.py", "sources.models.default.replies.script.py: "),
        ("helper.py", "sources.models.default.replies.helper.py: "),
        ("world.py", "sources.environment.world.py: "),
        ("tools.py", "sources.environment.tools.0.tools.py: "),
        ("weights.bin", "data.environment.weights: "),
    ],
)
def test_every_file_that_is_read_counts(project: Path, tmp_path: Path, file: str, changed: str) -> None:
    run_in(project, tmp_path / "run")
    run_in(project, tmp_path / "run")
    (project / file).write_text(FILES[file] + " ")
    with pytest.raises(RunFolderError) as caught:
        run_in(project, tmp_path / "run")
    assert changed in str(caught.value)
    (project / file).write_text(FILES[file])
    run_in(project, tmp_path / "run")


def test_two_projects_in_one_process_run_their_own_helpers(tmp_path: Path) -> None:
    said = []
    for verb in ("done", "read"):
        folder = tmp_path / verb
        folder.mkdir()
        (folder / "script.py").write_text(MODEL)
        (folder / "helper.py").write_text(f"VERB = {verb!r}\n")
        run = run_in(folder, tmp_path / f"run-{verb}", environment={"name": "counter", "tasks": 1})
        said.append(next(iter(run.reader.calls(0))).outcome.text)  # type: ignore[union-attr]
    assert said == ["Action: done", "Action: read"]


def test_a_changed_helper_is_another_folder_by_default(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (project / "run.toml").write_text(
        "[environment]\nname = 'counter'\ntasks = 1\n"
        "[models.default]\nprovider = 'scripted'\nreplies = 'script.py:reply'\n"
    )
    first = perdure.run(project / "run.toml")
    (project / "helper.py").write_text("VERB = 'read'\n")
    second = perdure.run(project / "run.toml")
    assert first.folder != second.folder
    assert {next(iter(run.reader.calls(0))).outcome.text for run in (first, second)} == {  # type: ignore[union-attr]
        "Action: done",
        "Action: read",
    }


def test_an_identity_does_not_say_where_files_lie(project: Path, tmp_path: Path) -> None:
    before = identity(project, **PLUGGED)
    project.rename(tmp_path / "elsewhere")
    assert identity(tmp_path / "elsewhere", **PLUGGED) == before
    assert str(tmp_path) not in str(before)


def test_folders_count_by_what_is_in_them(project: Path) -> None:
    environment = {"name": "world.py:World", "weights": "folder"}
    seen = [identity(project, environment=environment)]
    (project / "folder/deep/b.txt").write_text("c")
    seen.append(identity(project, environment=environment))
    (project / "folder/deep/b.txt").rename(project / "folder/deep/c.txt")
    seen.append(identity(project, environment=environment))
    assert seen[0] != seen[1] != seen[2] != seen[0]


def test_a_list_of_references_is_scanned_even_where_they_are_texts(project: Path) -> None:
    environment = {"name": "world.py:World", "names": ["tools.py:first", "nothing.py:f", "text"]}
    found = identity(project, environment=environment)["sources"]
    assert list(found["environment.names.0"]) == ["tools.py"]
    assert set(found) == {"environment", "environment.names.0"}


def test_a_file_models_code_is_part_of_the_cache_key(project: Path, tmp_path: Path) -> None:
    cached = {"execution": {"cache": True, "limit": 1}, "environment": {"name": "counter", "tasks": 1}}
    said = []
    for number, verb in enumerate(["done", "read", "done"]):
        (project / "helper.py").write_text(f"VERB = {verb!r}\n")
        run = run_in(project, tmp_path / f"run{number}", **cached)
        said.append(next(iter(run.reader.calls(0))).outcome.text)  # type: ignore[union-attr]
    assert said == ["Action: done", "Action: read", "Action: done"]


WEIGHED = """
from pathlib import Path

from perdure.core.usage import TokenCount
from perdure.core.types import Completion


class Weighed:
    def __init__(self, *, weights: Path):
        self._says = weights.read_text()

    def generate(self, requests):
        return enumerate([Completion(f"Action: {self._says}")] * len(requests))

    def count_tokens(self, messages):
        return TokenCount(1, exact=True)
"""


def test_the_weights_of_a_model_are_part_of_the_cache_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "weighed.py").write_text(WEIGHED)
    weights = tmp_path / "weights.bin"
    model = {"provider": f"{tmp_path}/weighed.py:Weighed", "weights": str(weights)}
    said = []
    for number, verb in enumerate(["done", "read", "done"]):
        weights.write_text(verb)
        config = {"environment": {"name": "counter", "tasks": 1}, "models": {"default": model}}
        run = perdure.run(config, sets=["execution.cache=true"], out=tmp_path / f"run{number}")
        said.append(next(iter(run.reader.calls(0))).outcome.text)  # type: ignore[union-attr]
    assert said == ["Action: done", "Action: read", "Action: done"]


def test_a_file_first_imported_during_the_run_stops_it(project: Path, tmp_path: Path) -> None:
    (project / "script.py").write_text(
        "from importlib import import_module\n\n"
        "def reply(request):\n    return import_module('.helper', __package__).VERB\n"
    )
    with pytest.raises(ConfigError, match="first imported during the run") as caught:
        run_in(project, tmp_path / "run")
    assert "helper.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_edited_while_it_runs_is_not_run(project: Path, tmp_path: Path) -> None:
    config = load_config(PLUGGED, values={"execution.out": str(tmp_path / "run")})
    with Experiment(config, base=project) as experiment:
        experiment.identity  # noqa: B018 - it is read here
        (project / "helper.py").write_text("VERB = 'read'\n")
        experiment.run()
    call = next(iter(perdure.load(tmp_path / "run").reader.calls(0)))
    assert call.outcome.text == "Action: done"  # type: ignore[union-attr]


def test_another_version_of_perdure_is_told_and_accepted(tmp_path: Path) -> None:
    config = {**COUNTER, "agent": {"kind": "oracle"}}
    perdure.run(config, sets=["execution.limit=1"], out=tmp_path / "run")
    file = tmp_path / "run" / "config.toml"
    edit_config(file, f'perdure = "{version("perdure")}"', 'perdure = "0.0.9"')
    with pytest.raises(RunFolderError, match=r"was played with perdure 0\.0\.9, this is .*--accept-version"):
        perdure.run(config, out=tmp_path / "run")
    assert len(perdure.load(tmp_path / "run").sessions) == 1
    assert len(perdure.run(config, out=tmp_path / "run", accept_version=True).sessions) == 2
    perdure.run(config, out=tmp_path / "run")
    assert 'accepted = [\n    "0.0.9",\n]' in file.read_text()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], int]:
    """How often a large file was read to its end."""
    read: list[str] = []
    real = hashlib.file_digest

    def count(file: Any, kind: Any) -> Any:
        read.append(file.name)
        return real(file, kind)

    monkeypatch.setattr(file_digests, "file_digest", count)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda: len(read)


def test_the_digest_of_a_large_file_is_remembered_until_it_changes(
    tmp_path: Path, counted: Callable[[], int]
) -> None:
    file = tmp_path / "weights.gguf"
    file.write_bytes(bytes(2 << 20))
    os.utime(file, (1_000_000, 1_000_000))
    first = digest_of(file)
    assert [digest_of(file), counted()] == [first, 1]
    file.write_bytes(b"1" + bytes((2 << 20) - 1))
    os.utime(file, (1_000_001, 1_000_001))
    assert digest_of(file) != first
    assert counted() == 2
    (entry,) = (tmp_path / "cache" / "perdure" / "digests").iterdir()
    entry.write_text("torn")
    second = digest_of(file)
    assert second != first
    assert counted() == 3
    whole = entry.read_bytes()
    for place in range(0, len(whole), 7):
        entry.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert digest_of(file) == second, "a flipped bit is no other file"
        entry.write_bytes(whole)


def test_the_digest_of_a_file_that_was_just_written_is_not_remembered(
    tmp_path: Path, counted: Callable[[], int]
) -> None:
    file = tmp_path / "weights.gguf"
    file.write_bytes(bytes(2 << 20))
    digest_of(file)
    digest_of(file)
    assert counted() == 2
