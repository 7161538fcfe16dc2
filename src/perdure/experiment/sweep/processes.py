"""Runs a sweep on local processes: one a run, each with its own folder; what is finished is not run again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from perdure.core.errors import StorageError
from perdure.experiment.runs import load
from perdure.experiment.sweep.file import Sweep, SweepRun
from perdure.experiment.sweep.matching import Matched, matched_runs, measured_budget, with_budget
from perdure.experiment.sweep.resolution import resolve_runs
from perdure.experiment.sweep.worker import FINISHED_BEFORE, PLAYED

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


def run_sweep(
    sweep: Sweep,
    *,
    workers: int = 2,
    on_outcome: OnOutcome | None = None,
    accept_version: bool = False,
) -> list[RunOutcome]:
    """Carry out what is left of a sweep and return an outcome a run, in the sweep's order.

    Whether a run is finished is asked of its folder, opened for this configuration as it is now: a longer
    schedule goes on, and a run whose plug-ins or data changed since is an error.

    A run that fails is reported and the others go on. However this ends (an interrupt, a kill), the
    processes end too, and the same call continues where they stopped. What a machine decides (which root
    file system is meant by `auto`) is decided once for all runs. Runs whose budget is that of another arm are
    played after the others. Raises ConfigError, StorageError, RunFolderError.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    outcomes: dict[Path, RunOutcome] = {}

    def report(outcome: RunOutcome) -> None:
        outcomes[outcome.run.folder] = outcome
        if on_outcome is not None:
            on_outcome(outcome)

    resolved = resolve_runs(sweep, sweep.runs)
    waiting = matched_runs(resolved, sweep.match)
    late = {matched.run.folder for matched in waiting}
    first = tuple(run for run in resolved if run.folder not in late)
    _play(replace(sweep, runs=first), workers, report, accept_version=accept_version)
    second = tuple(_budgeted(waiting, outcomes, report))
    _play(replace(sweep, runs=second), workers, report, accept_version=accept_version)
    return [outcomes[run.folder] for run in sweep.runs]


def _budgeted(
    waiting: Iterable[Matched], outcomes: Mapping[Path, RunOutcome], report: OnOutcome
) -> Iterator[SweepRun]:
    """Runs with the budget of their arm; those whose arm has failed are reported."""
    for matched in waiting:
        reference = matched.reference
        if outcomes[reference.folder].error:
            report(RunOutcome(matched.run, error=f"its budget is that of {reference.label!r}, which failed"))
        else:
            yield with_budget(matched, measured_budget(load(reference.folder)))


def _play(sweep: Sweep, workers: int, report: OnOutcome, *, accept_version: bool) -> None:
    left = list(reversed(sweep.runs))
    with ExitStack() as ending:
        running: list[_Worker] = []
        while left or running:
            while left and len(running) < workers:
                worker = _Worker(left.pop(), sweep, accept_version=accept_version)
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

    def __init__(self, run: SweepRun, sweep: Sweep, *, accept_version: bool) -> None:
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
        order = {
            "config": run.config,
            "base": str(sweep.base),
            "out": str(run.folder),
            "accept_version": accept_version,
        }
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):  # it died at once; its log says why
                self.process.stdin.write(json.dumps(order).encode() + b"\n")
                self.process.stdin.flush()

    def outcome(self) -> RunOutcome:
        """What the ended process came to; the log of a run that went well is removed."""
        self.end()
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        told = lines[-1] if lines else ""
        if self.process.returncode == 0 and told in (PLAYED, FINISHED_BEFORE):
            self._log.unlink(missing_ok=True)
            return RunOutcome(self._run, skipped=told == FINISHED_BEFORE)
        code = f"the process ended with code {self.process.returncode} before its run was finished"
        return RunOutcome(self._run, error=told if told and self.process.returncode else code)

    def end(self) -> None:
        """Close the process's stdin, which ends it, and wait until it is gone. Idempotent."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with suppress(BrokenPipeError):  # it had ended before it read its order
                self.process.stdin.close()
        self.process.wait()
