"""Runs a sweep on local processes: one a run, each with its own folder; what is finished is not run again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from perdure.core.errors import RunFolderError, StorageError
from perdure.experiment.runs import load
from perdure.experiment.sweep.file import Sweep, SweepRun

_PAUSE = 0.02
"""Seconds between two looks at the processes."""


@dataclass(frozen=True)
class RunOutcome:
    """What became of one run: `error` is empty for a finished one."""

    run: SweepRun
    error: str = ""
    skipped: bool = False
    """It was finished before."""


OnOutcome = Callable[[RunOutcome], None]


def run_sweep(sweep: Sweep, *, workers: int = 2, on_outcome: OnOutcome | None = None) -> list[RunOutcome]:
    """Carry out what is left of a sweep and return an outcome a run, in the sweep's order.

    A run that fails is reported and the others go on. However this ends (an interrupt, a kill), the
    processes end too, and the same call continues where they stopped. Raises StorageError.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    outcomes: dict[Path, RunOutcome] = {}

    def report(outcome: RunOutcome) -> None:
        outcomes[outcome.run.folder] = outcome
        if on_outcome is not None:
            on_outcome(outcome)

    waiting = []
    for run in sweep.runs:
        if is_finished(run.folder):
            report(RunOutcome(run, skipped=True))
        else:
            waiting.append(run)
    _play(waiting, sweep, workers, report)
    return [outcomes[run.folder] for run in sweep.runs]


def is_finished(folder: Path) -> bool:
    """Whether a run folder holds every session of its schedule, and its metrics."""
    try:
        run = load(folder)
        return len(run.sessions) == run.planned and bool(run.metrics)
    except RunFolderError:
        return False


def _play(waiting: Sequence[SweepRun], sweep: Sweep, workers: int, report: OnOutcome) -> None:
    left = list(reversed(waiting))
    with ExitStack() as ending:
        running: list[_Worker] = []
        while left or running:
            while left and len(running) < workers:
                worker = _Worker(left.pop(), sweep)
                ending.callback(worker.end)
                running.append(worker)
            ended = [worker for worker in running if worker.process.poll() is not None]
            for worker in ended:
                running.remove(worker)
                report(worker.outcome())
            if not ended:
                time.sleep(_PAUSE)


class _Worker:
    """A process that carries out one run."""

    def __init__(self, run: SweepRun, sweep: Sweep) -> None:
        self._run = run
        self._log = sweep.out / f"{run.folder.name}.log"
        try:
            sweep.out.mkdir(parents=True, exist_ok=True)
            log = self._log.open("wb")
        except OSError as error:
            raise StorageError(f"cannot write {str(self._log)!r}: {error.strerror or error}") from error
        with log:
            # In a session of its own: Ctrl-C reaches the sweep alone, which then closes the worker's stdin.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "perdure.experiment.sweep.worker"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        order = {"config": run.config, "base": str(sweep.base), "out": str(run.folder)}
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):  # it died at once; its log says why
                self.process.stdin.write(json.dumps(order).encode() + b"\n")
                self.process.stdin.flush()

    def outcome(self) -> RunOutcome:
        """What the ended process came to; the log of a run that went well is removed."""
        self.end()
        if self.process.returncode == 0:
            self._log.unlink(missing_ok=True)
            return RunOutcome(self._run)
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        code = f"the process ended with code {self.process.returncode}"
        return RunOutcome(self._run, error=lines[-1] if lines else code)

    def end(self) -> None:
        """Close the process's stdin, which ends it, and wait until it is gone. Idempotent."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with suppress(BrokenPipeError):  # it had ended before it read its order
                self.process.stdin.close()
        self.process.wait()
