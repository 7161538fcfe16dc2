"""The environment's own agents on the same tasks: the oracle (must solve all) and the do-nothing agent."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from perdure.core.types import JSON
from perdure.experiment.config import AgentSection, ExecutionSection, RunConfig
from perdure.experiment.experiment import Experiment
from perdure.experiment.runs import Run
from perdure.storage.files import replace_atomically

FLOORS_FILE = "floors.json"


def read_floors(folder: Path) -> dict[str, JSON] | None:
    """What was kept beside a run: `agent -> facts`, or None."""
    try:
        body: dict[str, JSON] = json.loads((folder / FLOORS_FILE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    floors: dict[str, JSON] = body["agents"]
    return floors


def floors_of(experiment: Experiment) -> dict[str, JSON]:
    """Facts of both agents over the experiment's tasks, once each; kept in its folder for later reports.

    Nothing is played again while the folder holds them for this schedule. A world without an oracle has one.
    """
    tasks = list(dict.fromkeys(trial.task_id for trial in experiment.schedule))
    path = experiment.folder / FLOORS_FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["tasks"] == tasks:
            agents: dict[str, JSON] = kept["agents"]
            return agents
    except (FileNotFoundError, ValueError, KeyError):
        pass  # never computed, or by a process that was stopped
    kinds = ["do_nothing"] if experiment.world.oracle is None else ["oracle", "do_nothing"]
    floors = {kind: _play(experiment, kind, tasks) for kind in kinds}
    replace_atomically(path, json.dumps({"v": 1, "tasks": tasks, "agents": floors}))
    return floors


def _play(experiment: Experiment, kind: str, tasks: list[str]) -> dict[str, JSON]:
    from perdure.reports.facts import summary_facts

    with tempfile.TemporaryDirectory(prefix="perdure-floor-") as scratch:
        config = RunConfig(
            name="floor",
            seed=experiment.config.seed,
            environment=experiment.config.environment,
            agent=AgentSection(kind=kind),  # type: ignore[arg-type]
            models=experiment.config.models,  # an environment may name one, for a simulated user
            limits=experiment.config.limits,
            tasks=tasks,
            execution=ExecutionSection(out=scratch, fsync=False),
        )
        with Experiment(config, base=experiment.base) as floor:
            floor.run()
            return summary_facts(Run(floor.folder).summary())
