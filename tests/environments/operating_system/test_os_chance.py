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
