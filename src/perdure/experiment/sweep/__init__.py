"""A grid of runs: read from one file, carried out by local processes, resumable."""

from perdure.experiment.sweep.file import Sweep, SweepRun, load_sweep
from perdure.experiment.sweep.processes import RunOutcome, run_sweep

__all__ = ["RunOutcome", "Sweep", "SweepRun", "load_sweep", "run_sweep"]
