"""`$RANDOM` in a shell is the trial's own, so that a session can be played again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from perdure.core.types import Trial
from perdure.environments.operating_system import OperatingSystemEnvironment
from tests.environments.operating_system.test_os_environment import bash, entry
from tests.sandboxes.availability import need_bubblewrap


def drawn(environment: OperatingSystemEnvironment, trial: Trial) -> list[str]:
    environment.reset(trial)
    seen = [environment.interact(bash("echo $RANDOM $RANDOM")).text for _ in range(2)]
    seen.append(environment.interact(bash("echo $RANDOM; fi")).text)
    environment.complete()
    return seen


@pytest.mark.parametrize("shell", ["fresh", "persistent"])
def test_chance_in_the_shell_is_the_trials_and_nothing_tells_of_it(
    tmp_path: Path, shell: Literal["fresh", "persistent"]
) -> None:
    need_bubblewrap()
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps({"0": entry()}))
    environment, other = (OperatingSystemEnvironment(tasks=tasks, shell=shell, seed=seed) for seed in (1, 2))
    first = drawn(environment, Trial("0"))
    assert drawn(environment, Trial("0")) == first
    assert len({*first, *drawn(environment, Trial("0", repeat=1)), *drawn(other, Trial("0"))}) == 7
    assert "syntax error" in first[-1]
    assert "RANDOM=" not in "".join(first)
    environment.release()
    other.release()


NESTED = """
echo 'echo $RANDOM' > /dice.sh; chmod +x /dice.sh
bash /dice.sh; bash /dice.sh; bash -c 'echo $RANDOM'; sh -c 'bash /dice.sh'
"""


@pytest.mark.parametrize("shell", ["fresh", "persistent"])
def test_shells_within_shells_and_those_of_the_task_draw_alike_in_each_play(
    tmp_path: Path, shell: Literal["fresh", "persistent"]
) -> None:
    """Set-up, scripts that are called later, and the shell that follows one that ended."""
    need_bubblewrap()
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps({"0": entry(init="echo $RANDOM > /drawn")}))
    environment = OperatingSystemEnvironment(tasks=tasks, shell=shell, seed=1)
    scripts = ["cat /drawn", NESTED, "bash /dice.sh", "exit 3", "bash /dice.sh; echo $RANDOM"]
    plays = []
    for _ in range(2):
        environment.reset(Trial("0"))
        plays.append([environment.interact(bash(script)).text for script in scripts])
        environment.complete()
    environment.release()
    assert plays[0] == plays[1]
    drawn = [number for text in plays[0] for number in text.split() if number.isdigit()]
    assert len(drawn) == 8
    assert len(set(drawn)) == 8


def test_nothing_is_there_before_somebody_draws(tmp_path: Path) -> None:
    need_bubblewrap()
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps({"0": entry()}))
    environment = OperatingSystemEnvironment(tasks=tasks)
    environment.reset(Trial("0"))
    assert "BASH_ENV" not in environment.interact(bash("env")).text
    environment.complete()
    environment.release()


def test_chance_that_the_agent_sets_itself_is_bash_s(tmp_path: Path) -> None:
    need_bubblewrap()
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps({"0": entry()}))
    environment = OperatingSystemEnvironment(tasks=tasks, shell="persistent")
    environment.reset(Trial("0"))
    first = environment.interact(bash("RANDOM=42; echo $RANDOM")).text
    second = environment.interact(bash("RANDOM=42\necho $RANDOM")).text
    third = environment.interact(bash("RANDOM=42")).text, environment.interact(bash("echo $RANDOM")).text
    assert first == second == third[1]
    environment.complete()
    environment.release()
