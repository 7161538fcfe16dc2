"""What every callback keeps to. `check_callback` is the suite.

A suite in a test file of your own:

    failed = [result for result in check_callback("my_method.py:MyMethod") if not result.passed]
    assert not failed

Its runs are real ones, of a scripted agent over tasks of the counter.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perdure.conformance.checks import require, run_checks, shorten
from perdure.conformance.result import NOT_APPLICABLE, CheckResult
from perdure.core.callback import Callback, label_of
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON
from perdure.experiment.config import load_config
from perdure.experiment.construct import declared_types, takes
from perdure.experiment.experiment import Experiment
from perdure.experiment.registry import load_plugin
from perdure.experiment.runs import Run

TASKS = 4
_PLAYER = Path(__file__).with_name("counter_player.py")


@dataclass
class Subject:
    """A callback under test, and the runs that were made with it."""

    name: str
    parameters: dict[str, JSON]
    base: Path
    folder: Path
    target: type[Callback]
    runs: dict[str, Run] = field(default_factory=dict)

    def play(self, out: str, *limits: int, callback: bool = True, **changes: JSON) -> Run:
        """A finished run; with several `limits` it is stopped and resumed at each."""
        if out not in self.runs:
            for limit in limits or (TASKS,):
                config = load_config(self._config(callback, **changes))
                execution = config.execution.model_copy(
                    update={"out": str(self.folder / out), "limit": limit, "fsync": False}
                )
                with Experiment(config.model_copy(update={"execution": execution}), base=self.base) as run:
                    run.run()
            self.runs[out] = Run(self.folder / out)
        return self.runs[out]

    def build(self) -> Callback:
        """An instance as a run builds it."""
        config = load_config(self._config(True))
        with Experiment(config, base=self.base) as experiment:
            return experiment.callbacks()[0]

    def deltas(self, run: Run) -> list[JSON]:
        """What it said in each session."""
        label = label_of(self.target)
        return [line["callbacks"].get(label) for line in run.reader.lines()]

    def state_after(self, state: JSON, deltas: list[JSON]) -> JSON:
        """The whole state of a new instance that took these up."""
        callback = self.build()
        callback.restore_state(json.loads(json.dumps(state)), json.loads(json.dumps(deltas)))
        kept = callback.snapshot_state()
        callback.close()
        return kept

    def _config(self, callback: bool, **changes: JSON) -> dict[str, JSON]:
        return {
            "environment": {"name": "counter", "tasks": TASKS},
            "models": {"default": {"provider": "scripted", "replies": f"{_PLAYER}:reply"}},
            "callbacks": [{"name": self.name, **self.parameters}] if callback else [],
            **changes,
        }


def check_callback(
    name: str, parameters: Mapping[str, JSON] | None = None, *, base: Path | None = None
) -> Iterator[CheckResult]:
    """Run every check on a callback of `perdure list`, or `file.py:Class`.

    A model that its constructor wants and the parameters do not give is a scripted one. One result a check,
    in order; nothing is raised for a plug-in's failure. Raises UsageError where there is no such callback.
    """
    base = base or Path.cwd()
    target = load_plugin("callback", name, base=base).target
    hints = declared_types(target, "callback")
    wanted = {key: "default" for key, hint in hints.items() if takes(hint, ModelHandle)}
    with tempfile.TemporaryDirectory(prefix="perdure-check-") as scratch:
        subject = Subject(name, {**wanted, **(parameters or {})}, base, Path(scratch), target)
        yield from run_checks(subject, CHECKS)


def a_run_comes_to_its_end(subject: Subject) -> str:
    """Every event is handled, every state is JSON."""
    run = subject.play("whole")
    require(len(run.sessions) == TASKS, f"{len(run.sessions)} of {TASKS} sessions")
    return f"{TASKS} sessions"


def equal_runs_are_equal(subject: Subject) -> str:
    """Two runs write the same sessions, byte for byte."""
    _require_same(subject.play("whole"), subject.play("again"), "two equal runs differ")
    return ""


def a_resumed_run_is_the_same(subject: Subject) -> str:
    """Stopped after each session and resumed from its deltas, or from snapshots, a run is the same run."""
    whole = subject.play("whole")
    for every, source in ((10 * TASKS, "deltas"), (1, "snapshots"), (2, "snapshots and deltas")):
        resumed = subject.play(source, *range(1, TASKS + 1), execution={"snapshot_every": every})
        _require_same(whole, resumed, f"a run that is resumed from {source} differs")
    return f"{TASKS - 1} interruptions"


def a_session_callback_keeps_nothing(subject: Subject) -> str:
    """With `reach = "session"` a task goes as it goes alone, whatever was played before."""
    if subject.target.reach != "session":
        return f"{NOT_APPLICABLE}: its reach is {subject.target.reach!r}"
    return _as_alone(subject, subject.play("whole"))


def a_watcher_changes_nothing(subject: Subject) -> str:
    """With `reach = "watch"` the sessions are those of a run without it."""
    if subject.target.reach != "watch":
        return f"{NOT_APPLICABLE}: its reach is {subject.target.reach!r}"
    _require_same(subject.play("whole"), subject.play("without", callback=False), "it changes sessions")
    return ""


def what_learns_is_frozen_by_a_control(subject: Subject) -> str:
    """Under `stateless` a task goes as it goes alone: no memory is kept where a run cannot freeze it."""
    if subject.target.reach != "stream" or not subject.target.learns:
        return f"{NOT_APPLICABLE}: it does not learn over the stream"
    return _as_alone(subject, subject.play("stateless", stateless=True), stateless=True)


def a_state_is_what_its_deltas_fold_to(subject: Subject) -> str:
    """All deltas at once, one by one, and with a snapshot between give the same state."""
    deltas = subject.deltas(subject.play("whole"))
    if all(delta is None for delta in deltas):
        return f"{NOT_APPLICABLE}: it said nothing in {TASKS} sessions"
    whole = subject.state_after(None, deltas)
    for cut in range(1, TASKS):
        first = subject.state_after(None, deltas[:cut])
        again = subject.state_after(first, deltas[cut:])
        told = f"a snapshot after {cut} sessions: {_shown(again)} instead of {_shown(whole)}"
        require(again == whole, told)
    return f"{sum(delta is not None for delta in deltas)} deltas"


def deltas_of_siblings_fold(subject: Subject) -> str:
    """Deltas of sessions that began in one state, as in a block, fold in any order, snapshots between."""
    if subject.target.reach != "stream":
        return f"{NOT_APPLICABLE}: its reach is {subject.target.reach!r}"
    siblings = [subject.deltas(_alone(subject, task))[0] for task in range(TASKS)]
    if all(delta is None for delta in siblings):
        return f"{NOT_APPLICABLE}: it said nothing in {TASKS} sessions"
    for order in (siblings, siblings[::-1], [delta for delta in siblings for _ in range(2)]):
        whole = subject.state_after(None, order)
        state = None
        for delta in order:
            state = subject.state_after(state, [delta])
        require(state == whole, f"one by one they give {_shown(state)}, at once {_shown(whole)}")
    return ""


def _alone(subject: Subject, task: int, **changes: Any) -> Run:
    return subject.play(f"alone-{task}-{len(changes)}", 1, tasks=[str(task)], **changes)


def _as_alone(subject: Subject, run: Run, **changes: Any) -> str:
    for task in range(TASKS):
        alone = _alone(subject, task, **changes)
        for what, read in _FACTS.items():
            now, then = read(run, task), read(alone, 0)
            problem = f"task {task}: {what} {_shown(now)} instead of {_shown(then)} when played alone"
            require(now == then, problem)
    return f"{TASKS} tasks"


_FACTS: dict[str, Callable[[Run, int], JSON]] = {
    "experience": lambda run, index: list(run.sessions[index].experience),
    "prompts": lambda run, index: [
        [(message.role, message.text) for message in call.messages] for call in run.reader.calls(index)
    ],
    "actions": lambda run, index: [interaction.action for interaction in run.sessions[index].interactions],
}


def _require_same(one: Run, two: Run, problem: str) -> None:
    lines = [(run.folder / "sessions.jsonl").read_bytes().splitlines() for run in (one, two)]
    for number, (first, second) in enumerate(zip(*lines, strict=True)):
        require(first == second, f"{problem}, first in session {number}")


def _shown(state: JSON) -> str:
    return shorten(json.dumps(state))


CHECKS = (
    a_run_comes_to_its_end,
    equal_runs_are_equal,
    a_resumed_run_is_the_same,
    a_session_callback_keeps_nothing,
    a_watcher_changes_nothing,
    what_learns_is_frozen_by_a_control,
    a_state_is_what_its_deltas_fold_to,
    deltas_of_siblings_fold,
)
