"""`perdure check`: conformance suites through the command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Perdure

BROKEN = '''
from perdure.strategies.full_history import FullHistory


class Forgetful(FullHistory):
    """Never shows what it was told."""

    def render(self, view):
        return list(super().render(view))[:1]
'''

WITHOUT_ORACLE = """
from dataclasses import replace

from perdure.environments import counter


class World(counter.CounterEnvironment):
    pass


WORLD = replace(counter.WORLD, environment=World, oracle=None)
"""


def test_an_environment_that_conforms(perdure: Perdure) -> None:
    result = perdure("check", "environment", "counter", "--set", "tasks=3")
    assert result.exit_code == 0
    *checks, last = result.stdout.splitlines()
    assert all(line.startswith("pass  ") for line in checks)
    assert last == f"{len(checks)}/{len(checks)} checks passed"
    assert any("oracle solves the tasks: 3/3 tasks" in line for line in checks)


def test_checks_that_need_an_oracle_are_not_applicable_without_one(perdure: Perdure, folder: Path) -> None:
    (folder / "world.py").write_text(WITHOUT_ORACLE)
    result = perdure("check", "environment", "world.py:World")
    assert result.exit_code == 0, result.stdout
    lines = result.stdout.splitlines()
    assert "n/a   oracle solves the tasks: not applicable: the world has no oracle" in lines
    assert not any(line.startswith("FAIL") for line in lines)
    assert lines[-1].endswith(" checks passed, 1 not applicable")
    body = json.loads(perdure("check", "environment", "world.py:World", "--json").stdout)
    assert [check["name"] for check in body if not check["applicable"]] == ["oracle solves the tasks"]


def test_a_strategy_that_does_not(perdure: Perdure, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    result = perdure("check", "strategy", "broken.py:Forgetful")
    assert result.exit_code == 1
    assert "FAIL  latest observation is visible" in result.stdout
    body = json.loads(perdure("check", "strategy", "broken.py:Forgetful", "--json").stdout)
    failed = {check["name"] for check in body if not check["passed"]}
    assert "goal and first observation are visible" in failed
    assert "absorb survives hostile replies" not in failed


def test_a_model_that_wants_a_world_gets_that_of_an_environment(perdure: Perdure) -> None:
    result = perdure("check", "model", "perfect_reader", "--world", "warehouse")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert perdure("check", "model", "perfect_reader", "--world", "counter").exit_code == 2
    unknown = perdure("check", "model", "perfect_reader", "--world", "nowhere")
    assert unknown.exit_code == 2
    assert "unknown environment 'nowhere'" in unknown.stderr


def test_a_model_that_conforms(perdure: Perdure) -> None:
    result = perdure("check", "model", "scripted", "--set", 'replies=["yes"]', "--set", "cycle=true")
    assert result.exit_code == 0, result.stdout


LEAKS = """
from perdure import Callback


class Leaks(Callback):
    learns = True
    seen = []

    def on_environment_complete(self, ctx):
        self.seen.append(ctx.session.index)

    def on_state_save(self, ctx):
        return object()
"""


def test_a_callback_that_conforms_and_one_that_does_not(perdure: Perdure, folder: Path) -> None:
    good = perdure("check", "callback", "experience_replay", "--set", "k=2")
    assert good.exit_code == 0, good.stdout
    Path("leaks.py").write_text(LEAKS)
    bad = perdure("check", "callback", "leaks.py:Leaks")
    assert bad.exit_code == 1
    assert "FAIL" in bad.stdout
