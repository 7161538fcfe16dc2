"""What a run folder says about itself, when it may go on, and what never enters it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError, RunFolderError, UsageError
from perdure.environments import counter
from perdure.storage.files import seal_lines
from tests.core.bench import Bench

ORACLE: dict[str, Any] = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}

CALLBACK = """
from perdure import Callback

class Mine(Callback):
    def __init__(self, *, size: int = 1) -> None:
        pass

class Watcher(Callback):
    reach = "watch"
"""


def refusal(config: dict[str, Any], out: Path, *sets: str) -> str:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UsageError) as caught:
        perdure.run(config, sets=sets, out=out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("sets", "changed"),
    [
        (["seed=1"], "Changed: environment_version: '2+2.0' → '2+2.1'; seed: 0 → 1"),
        (["agent.kind=do_nothing"], "Changed: agent.kind: 'oracle' → 'do_nothing'"),
        (["limits.max_interactions=3"], "Changed: limits.max_interactions: None → 3"),
        (["environment.tasks=3"], "environment.tasks: 2 → 3; environment_version: '2+2.0' → '2+3.0'"),
        (['callbacks=[{name="abort_on_agent_errors"}]'], "callbacks.0.name: None → 'abort_on_agent_errors'"),
        (["name=other"], "Changed: name: 'run' → 'other'"),
    ],
)
def test_a_changed_configuration_is_refused_and_every_changed_key_is_named(
    tmp_path: Path, sets: list[str], changed: str
) -> None:
    perdure.run(ORACLE, out=tmp_path / "run")
    message = refusal(ORACLE, tmp_path / "run", *sets)
    assert message.startswith(
        f"{str(tmp_path / 'run')!r} holds a run of another configuration; give another --out."
    )
    assert changed in message


def test_a_changed_source_file_of_a_callback_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CALLBACK)
    config = {**ORACLE, "callbacks": [{"name": f"{file}:Mine", "size": 2}]}
    perdure.run(config, out=tmp_path / "run")
    perdure.run(config, out=tmp_path / "run")
    file.write_text(CALLBACK + "\n# changed\n")
    assert "sources.callbacks.mine.mine.py: " in refusal(config, tmp_path / "run")


def test_watchers_and_execution_may_change_between_two_processes(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CALLBACK)
    first = perdure.run(ORACLE, sets=["execution.limit=1"], out=tmp_path / "run")
    config = {**ORACLE, "callbacks": [{"name": f"{file}:Watcher"}, {"name": "progress", "every": 60.0}]}
    second = perdure.run(
        config, sets=["execution.snapshot_every=1", "execution.fsync=false"], out=tmp_path / "run"
    )
    assert (first.planned, second.planned, len(second.sessions)) == (1, 2, 2)
    assert first.hash == second.hash
    assert second.config.execution.snapshot_every == 1, "the folder says how it was last run"


def test_sessions_without_a_configuration_are_nobodys(tmp_path: Path) -> None:
    perdure.run(ORACLE, out=tmp_path / "run")
    (tmp_path / "run" / "config.toml").unlink()
    assert "holds sessions but no config.toml; give another --out" in refusal(ORACLE, tmp_path / "run")


@pytest.mark.parametrize(
    "content", ["", "name = ", "[recorded]\nhash = 3\n", 'nothing = "here"\n[recorded]\n']
)
def test_a_damaged_configuration_is_one_clear_line(tmp_path: Path, content: str) -> None:
    perdure.run(ORACLE, out=tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text(seal_lines(content))
    with pytest.raises(RunFolderError, match="config.toml' cannot be read: ") as caught:  # noqa: RUF043
        perdure.load(tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert "cannot be read" in refusal(ORACLE, tmp_path / "run")


def test_the_default_folder_follows_from_name_and_hash_and_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = perdure.run(ORACLE, sets=["execution.limit=1"])
    assert first.folder == Path("runs") / f"run-{first.hash[:8]}"
    second = perdure.run(ORACLE)
    assert second.folder == first.folder
    assert len(second.sessions) == 2
    other = perdure.run(ORACLE, sets=["seed=1"])
    assert other.folder != first.folder
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted(
        [first.folder.name, other.folder.name]
    )


def test_the_written_configuration_is_the_resolved_one_and_can_be_run_again(tmp_path: Path) -> None:
    run = perdure.run(ORACLE, sets=["environment.tasks=3"], out=tmp_path / "run")
    body = tomllib.loads((run.folder / "config.toml").read_text())
    recorded = body.pop("recorded")
    assert recorded["hash"] == run.hash
    assert set(recorded) == {"kept", "hash", "schema", "perdure", "python", "base", "identity", "planned"}
    assert body["environment"] == {"name": "counter", "tasks": 3}
    again = perdure.run(body, out=tmp_path / "again")
    assert again.hash == run.hash
    assert (again.folder / "sessions.jsonl").read_bytes() == (run.folder / "sessions.jsonl").read_bytes()
    assert run.environment_version == "2+3.0"


def test_secrets_of_the_environment_never_enter_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "s3cr3t-t0ken")
    config = {
        **ORACLE,
        "models": {
            "default": {
                "provider": "openai_compatible",
                "model": "x",
                "base_url": "http://127.0.0.1:9/v1",
                "api_key_env": "MY_SECRET_KEY",
                "max_retries": 0,
            }
        },
    }
    run = perdure.run(config, out=tmp_path / "run")
    with pytest.raises(perdure.PerdureError) as caught:
        perdure.run({**config, "agent": {"kind": "model"}}, out=tmp_path / "asked")
    assert "s3cr3t-t0ken" not in str(caught.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert all(b"s3cr3t-t0ken" not in path.read_bytes() for path in files)
    assert "MY_SECRET_KEY" in (run.folder / "config.toml").read_text()


def test_mistakes_are_found_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for sets, expected in [
        (["environment.name=nowhere"], "unknown environment 'nowhere'; choose one of: "),
        (
            ["environment.size=3"],
            "environment.size: unknown key; choose one of: tasks, seed",
        ),
        (["environment.tasks=0"], "environment: tasks must be at least 1, not 0"),
        (['tasks=["0", "9"]'], "tasks: 'counter' has no task '9'; it has: 0, 1"),
        (
            ["agent.kind=model"],
            "no model is named 'default'; add a [models.default] section",
        ),
        (
            ["agent.kind=model", "agent.strategy.name=telepathy", "models.default.provider=scripted"],
            "models.default.replies: missing",
        ),
        (
            [
                "agent.kind=model",
                "agent.strategy.name=telepathy",
                'models.default={provider="scripted",replies=[]}',
            ],
            "unknown strategy 'telepathy'; choose one of: ",
        ),
        (['callbacks=[{name="nothing"}]'], "unknown callback 'nothing'; choose one of: "),
        (['callbacks=[{name="progress"},{name="progress"}]'], "two callbacks are named 'progress'"),
        (['models={m={provider="oracle_of_delphi"}}'], "unknown model 'oracle_of_delphi'; choose one of: "),
        (["agent.kind=fixed_response"], "agent.run: missing"),
        (["agent.kind=fixed_response", "agent.run=nowhere"], "nowhere' is not a run folder"),
    ]:
        assert expected in refusal(ORACLE, out, *sets)
        assert not out.exists()


def test_an_environment_whose_run_is_refused_is_released(bench: Bench) -> None:
    source = Path(bench.config["environment"]["name"].rpartition(":")[0]).read_text()
    marked = source.replace("    def release(self) -> None:\n        return\n", RELEASE)
    assert marked != source
    (bench.folder / "worlds.py").write_text(marked)
    bench.config["environment"]["name"] = f"{bench.folder}/worlds.py:Breakable"
    with pytest.raises(ConfigError, match="has no task 'none'"):
        bench.run(tasks=["none"])
    assert (bench.folder / "released").exists()


RELEASE = """
    def release(self) -> None:
        (self._knobs_file.parent / "released").touch()
"""


def test_an_environment_without_a_world_is_refused_at_once(bench: Bench) -> None:
    source = Path(bench.config["environment"]["name"].rpartition(":")[0]).read_text()
    (bench.folder / "worlds.py").write_text(source.partition("WORLD = ")[0])
    bench.config["environment"]["name"] = f"{bench.folder}/worlds.py:Breakable"
    with pytest.raises(ConfigError, match=r"declare WORLD = World\(environment=Breakable, …\) beside it"):
        bench.run()
    assert not bench.out.exists()


def test_paths_of_a_file_start_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.py").write_text(CALLBACK)
    (tmp_path / "deep" / "run.toml").write_text(
        f'[environment]\nname = "counter"\ntasks = 1\n[agent]\nkind = "do_nothing"\n'
        f'[[callbacks]]\nname = "mine.py:Mine"\n'
        f"[limits]\nmax_interactions = {counter.WORLD.max_interactions}\n"
    )
    monkeypatch.chdir(tmp_path)
    run = perdure.run("deep/run.toml", out=tmp_path / "run")
    assert run.base == tmp_path / "deep"
    assert len(run.sessions) == 1
