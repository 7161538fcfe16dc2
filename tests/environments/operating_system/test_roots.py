"""Which root the machines stand on, and what happens to tasks whose programs a root does not have."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError
from perdure.core.types import EvaluationOutcome, SessionStatus, Trial
from perdure.environments.operating_system import OperatingSystemEnvironment
from perdure.environments.operating_system.machines import (
    known_commands,
    machine_maker,
    resolve_parameters,
    resolve_root,
    surroundings,
)
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.replay import replay
from perdure.reports.facts import run_facts
from perdure.sandboxes.root_choice import choose_root
from perdure.sandboxes.root_fs import READY, root_folder
from tests.environments.operating_system.test_os_environment import entry
from tests.environments.operating_system.test_os_tasks import write
from tests.sandboxes.availability import need_bubblewrap
from tests.sandboxes.poor_root import poor_root


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own, on a machine that can run sandboxes."""
    need_bubblewrap()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def pretend(name: str) -> None:
    """A root that looks as if it had been built."""
    root_folder(name).mkdir(parents=True)
    (root_folder(name) / READY).write_text("")


def nobody() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_auto_is_a_debian_root_that_is_cached_else_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert choose_root("auto") == resolve_root("bubblewrap", "auto") == "host"
    assert list(tmp_path.iterdir()) == [], "nothing was built"
    pretend("ubuntu")
    assert choose_root("auto") == "host"
    pretend("debian")
    assert choose_root("auto") == resolve_root("bubblewrap", "auto") == "debian"
    assert choose_root("host") == resolve_root("bubblewrap", "host") == "host"
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert choose_root("auto") == "host", "there is no place where a root could be cached"


@pytest.mark.parametrize("sandbox", ["docker", "podman"])
def test_auto_is_an_engines_own_image(sandbox: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert resolve_parameters(sandbox=sandbox) == {"root": "debian"}
    assert resolve_root(sandbox, "bash:5") == "bash:5"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"root": ""}, "choose auto, debian"),
        ({"sandbox": "jail"}, "environment.sandbox: .*podman"),
        ({"root": 3}, "environment.root: "),
    ],
)
def test_a_root_that_means_nothing_is_one_line(parameters: Mapping[str, Any], said: str) -> None:
    config = {"environment": {"name": "operating_system", **parameters}, "agent": {"kind": "oracle"}}
    with pytest.raises(ConfigError, match=said):
        Experiment(load_config(config))


def test_two_roots_are_two_runs_and_auto_is_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def folder(**parameters: str) -> Path:
        config = {"environment": {"name": "operating_system", **parameters}, "agent": {"kind": "oracle"}}
        with Experiment(load_config(config)) as experiment:
            assert (
                experiment.identity["environment"]["root"] == experiment.config.environment.parameters["root"]
            )
            return experiment.folder

    host = folder(root="host")
    assert folder() == folder(root="auto") == host
    pretend("debian")
    assert folder() == folder(root="debian") != host
    assert folder(root="host") == host


def test_a_root_says_its_system_and_the_state_of_its_programs(empty_cache: Path) -> None:
    one = surroundings(root=str(poor_root(empty_cache / "one.tar")))
    again = surroundings(root=str(poor_root(empty_cache / "again.tar")))
    more = surroundings(root=str(poor_root(empty_cache / "more.tar", ("bash", "cat", "cksum", "stat"))))
    assert one["system"] == again["system"] == "unknown"
    assert one["root"].endswith("one.tar")
    host = surroundings(root="host")
    time.sleep(1.1)
    assert host == surroundings(root="host"), "copies that are made for each machine have other times"
    assert host["root"] == "host"
    assert host["programs"] not in ("", one["programs"])
    assert one["programs"] == again["programs"] != more["programs"]


def test_a_dangling_link_is_no_program(empty_cache: Path) -> None:
    root = str(poor_root(empty_cache / "poor.tar"))
    known = known_commands(machine_maker("bubblewrap", root, "fresh"))
    assert known >= {"cat", "cd", "if", "touch"}
    assert not known & {"awk", "vi", "python3"}


TASKS = {
    "fine": entry(init="mkdir -p /a"),
    "grader": entry(evaluation="test -e /done && awk 'END { exit NR }' /done"),
    "set-up": entry(init="if true; then echo $(vi --version); fi"),
    "example": entry(solution="bash -c 'touch /done; sudo true'"),
    "python": {
        **entry(),
        "initialization_command_item": {"command_name": "python", "script": "print('hello')"},
    },
    "own": entry(init="printf 'exit 0' > /bin/awk", evaluation="awk"),
}
LACKING = {
    "grader": "no awk",
    "set-up": "no vi",
    "example": "no sudo",
    "python": "no python3",
}


def test_a_task_whose_programs_are_missing_is_over_before_it_is_played(empty_cache: Path) -> None:
    root = str(poor_root(empty_cache / "poor.tar"))
    environment = OperatingSystemEnvironment(tasks=write(empty_cache / "tasks.json", TASKS), root=root)
    for task in TASKS:
        opening = environment.reset(Trial(task))
        reason = LACKING.get(task)
        if reason is None:
            assert not opening.observation.done
            assert environment.complete().outcome is not EvaluationOutcome.IGNORED
            continue
        assert opening.observation.status is SessionStatus.TASK_ENVIRONMENT_ERROR
        assert opening.observation.reason == f"{reason} in root {root}"
        assert environment.interact("Act: finish") == opening.observation
        assert environment.complete().outcome is EvaluationOutcome.IGNORED
        with pytest.raises(RuntimeError, match="without reset"):
            environment.complete()
    environment.release()


def test_what_a_root_lacks_counts_nowhere_and_is_named(empty_cache: Path) -> None:
    root = str(poor_root(empty_cache / "poor.tar"))
    tasks = write(empty_cache / "tasks.json", TASKS)
    config = {
        "environment": {"name": "operating_system", "root": root, "tasks": str(tasks)},
        "agent": {"kind": "oracle"},
    }
    finished = perdure.run(config, out=empty_cache / "run")
    found = run_facts(finished)
    assert found["ignored"] == {f"{reason} in root {root}": 1 for reason in LACKING.values()}
    assert found["statuses"]["task_environment_error"] == 4
    assert (found["success"]["of"], found["sessions"]) == (2, 6)
    assert found["metrics"]["skill.touch.count"] == 2.0
    assert json.loads((empty_cache / "run" / "surroundings.json").read_text())["seen"][0]["root"] == root
    assert replay(finished).reproduces
