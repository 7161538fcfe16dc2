"""A counter whose ground a machine decides, for `grounded.py:Grounded`: its knobs are a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from perdure.core.environment import Opening
from perdure.core.parameters import Operational
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.environments.counter import WORLD as COUNTER
from perdure.environments.counter import CounterEnvironment


class Grounded(CounterEnvironment):
    """Knobs: `auto` (what the ground `auto` is), `state` (of the ground), `lacking` (ground → its tasks)."""

    name = "grounded"

    def __init__(self, *, knobs: Annotated[Path, Operational], ground: str = "auto", tasks: int = 6) -> None:
        super().__init__(tasks=tasks)
        self._lacking = read(knobs).get("lacking", {}).get(ground, [])
        self._ground = ground
        self._lacks: Observation | None = None

    def reset(self, trial: Trial) -> Opening:
        """A task that the ground cannot hold is over at once."""
        opening = super().reset(trial)
        self._lacks = None
        if trial.task_id in self._lacking:
            reason = f"no {trial.task_id} in ground {self._ground}"
            status = SessionStatus.TASK_ENVIRONMENT_ERROR
            self._lacks = Observation(reason, done=True, status=status, reason=reason)
            return replace(opening, observation=self._lacks)
        return opening

    def interact(self, action: str) -> Observation:
        return self._lacks or super().interact(action)

    def complete(self) -> Evaluation:
        evaluation = super().complete()
        return Evaluation(EvaluationOutcome.IGNORED, 0.0) if self._lacks else evaluation


def read(knobs: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(knobs.read_text())
    return body


def resolve_parameters(*, knobs: Annotated[Path, Operational], ground: str = "auto") -> Mapping[str, str]:
    return {"ground": read(knobs)["auto"] if ground == "auto" else ground}


def surroundings(*, knobs: Annotated[Path, Operational], ground: str) -> Mapping[str, str]:
    return {"ground": ground, "state": read(knobs)["state"]}


WORLD = replace(
    COUNTER, environment=Grounded, resolve_parameters=resolve_parameters, surroundings=surroundings
)
