"""The environment's own agents on the same tasks: the oracle (must solve all) and the do-nothing agent.

They are runs of their own in `floors/<agent>/` of the run folder: their ledgers say what they ask models for.
"""

from __future__ import annotations

from pathlib import Path

from perdure.core.types import JSON
from perdure.experiment.config import AgentSection
from perdure.experiment.costs import run_cost
from perdure.experiment.experiment import Experiment
from perdure.experiment.runs import Run

FLOORS_FOLDER = "floors"
_KINDS = ["oracle", "do_nothing"]


def read_floors(folder: Path) -> dict[str, JSON] | None:
    """What was played beside a run: `agent -> facts`, or None. Raises RunFolderError for damage."""
    if not (folder / FLOORS_FOLDER).is_dir():
        return None
    kept = {kind: folder / FLOORS_FOLDER / kind for kind in _KINDS}
    runs = {kind: Run(path) for kind, path in kept.items() if (path / "metrics.json").exists()}
    return {kind: _facts(run) for kind, run in runs.items()}


def floors_of(experiment: Experiment) -> dict[str, JSON]:
    """Facts of both agents over the experiment's tasks, once each.

    What is played already is not played again. A world without an oracle has one.
    """
    kinds = ["do_nothing"] if experiment.world.oracle is None else _KINDS
    return {kind: _play(experiment, kind) for kind in kinds}


def _play(experiment: Experiment, kind: str) -> dict[str, JSON]:
    """A run of its own: interrupted, it goes on; beside a longer schedule, it grows."""
    execution = experiment.config.execution
    config = experiment.config.model_copy(
        update={
            "agent": AgentSection(kind=kind),  # type: ignore[arg-type]
            "callbacks": [],
            "stateless": False,
            "probes": None,
            "execution": execution.model_copy(
                update={"out": str(experiment.folder / FLOORS_FOLDER / kind), "repeat": 1, "cache": False}
            ),
        }
    )
    with Experiment(config, base=experiment.base, accept_version=experiment.accept_version) as floor:
        floor.run()
        return _facts(Run(floor.folder))


def _facts(run: Run) -> dict[str, JSON]:
    from perdure.reports.facts import summary_facts

    return summary_facts(run.summary(), run_cost(run.config, run.reader.charged()))
