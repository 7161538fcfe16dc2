"""Failure attribution: what each lost step is put down to, from the record of a run alone.

A step is lost that counted and was not answered rightly. The world's perfect reader, asked the very prompt
that the model was asked, tells whether the right answer could be known from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from perdure.core.errors import UsageError
from perdure.core.session import PastSession
from perdure.core.types import JSON, Completion, Message, Trial
from perdure.core.world import Asked, Readers
from perdure.experiment.experiment import Experiment
from perdure.experiment.registry import load_world
from perdure.experiment.runs import Run
from perdure.reports.step_prompts import StepCall, calls_by_step
from perdure.reports.table import Table, make_table

Facts: TypeAlias = Mapping[str, JSON]


class Cause(StrEnum):
    """What a lost step is put down to."""

    NO_ACTION = "no action"
    """No reply of the step held an action that could be used."""
    NOT_IN_PROMPT = "not in the prompt"
    """The perfect reader, asked that very prompt, errs too."""
    MODEL_ERRED = "model erred"
    """The prompt held what was needed: the perfect reader answers it rightly."""
    LOST_BEFORE = "lost before"
    """Earlier losses had left no right answer."""
    NOT_REACHED = "not reached"
    """The session had ended."""


@dataclass(frozen=True)
class LostStep:
    """One step that counted and was not answered rightly."""

    task_id: str
    repeat: int
    step: int
    """From 1."""
    cause: Cause
    action: str
    """What reached the environment; empty where nothing did."""
    best: str
    """What the perfect reader answers to the same prompt; empty where it was not asked."""


@dataclass(frozen=True)
class Diagnosis:
    """Every step of a run that counted, as right or by what it was lost to."""

    counted: int
    """Steps that counted, those of unfinished sessions that were never reached included."""
    lost: tuple[LostStep, ...]

    @property
    def counts(self) -> Mapping[Cause, int]:
        """Lost steps by cause; every cause is there."""
        found = Counter(step.cause for step in self.lost)
        return {cause: found[cause] for cause in Cause}


def diagnose(run: Run) -> Diagnosis:
    """Put every lost step of a run down to a cause; no model is asked.

    Raises UsageError where that cannot be told: no model acted, the world has no perfect reader, or it is not
    the one that the run was played in.
    """
    config = run.own_config()
    if config.agent.kind != "model":
        raise UsageError(
            f"{str(run.folder)!r}: its agent is {config.agent.kind!r}; there are no prompts to ask"
        )
    readers = load_world(config.environment.name, base=run.base).readers
    if readers is None or readers.asked is None:
        raise UsageError(
            f"{str(run.folder)!r}: environment {config.environment.name!r} has no perfect reader"
        )
    with Experiment(config, base=run.base, asks_models=False) as experiment:
        now = experiment.environment.version
        if now != run.environment_version:
            raise UsageError(
                f"{str(run.folder)!r} was played in environment version {run.environment_version}, "
                f"this is version {now}"
            )
        judge = _Judge(experiment, readers)
        counted, lost = 0, []
        for index, past in enumerate(run.sessions):
            steps = list(judge.steps(past, calls_by_step(past, run.reader.calls(index), judge.reads_action)))
            counted += len(steps)
            lost += [step for step in steps if step is not None]
    return Diagnosis(counted, tuple(lost))


class _Judge:
    """The world of a run, and the agent that reads its replies."""

    def __init__(self, experiment: Experiment, readers: Readers) -> None:
        self._environment = experiment.environment
        self._agent = experiment.agent()
        self._readers = readers

    def steps(self, past: PastSession, calls: Sequence[StepCall | None]) -> Iterator[LostStep | None]:
        """Each step that counted, None for one that was answered rightly; then those not reached."""
        record = past.record
        trial = Trial(record.task_id, record.repeat, record.clock)
        actions = [interaction.action for interaction in past.interactions]
        assert self._readers.asked is not None
        told = 0
        for number, asked in enumerate(self._readers.asked(self._environment, trial, actions), 1):
            if asked is None:
                continue
            told += 1
            action = actions[number - 1]
            if past.interactions[number - 1].observation.reward > 0:
                yield None
                continue
            cause, best = self._attribute(asked, action, calls[number - 1])
            yield LostStep(record.task_id, record.repeat, number, cause, self._key(action), self._key(best))
        rest = int(record.detail.get("actionable") or told) - told
        for number in range(len(actions) + 1, len(actions) + 1 + rest):
            yield LostStep(record.task_id, record.repeat, number, Cause.NOT_REACHED, "", "")

    def reads_action(self, reply: str) -> str | None:
        """The key of the action that a reply of the agent proposes; None where it holds none."""
        action = self._agent.read(Completion(reply))
        return self._environment.read_action(action if action is not None else reply)

    def _key(self, action: str) -> str:
        return self._environment.read_action(action) or action

    def _attribute(self, asked: Asked, action: str, call: StepCall | None) -> tuple[Cause, str]:
        if not asked.solvable:
            return Cause.LOST_BEFORE, ""
        if call is None or call.fell_back or self._environment.read_action(action) is None:
            return Cause.NO_ACTION, ""
        best = self._best(call.messages)
        return (Cause.MODEL_ERRED if asked.is_right(best) else Cause.NOT_IN_PROMPT), best

    def _best(self, messages: Sequence[Message]) -> str:
        reply = self._readers.perfect_reader(messages)
        return self._agent.read(Completion(reply)) or ""


def diagnosis_facts(run: Run) -> dict[str, JSON] | None:
    """Counts by cause; None for a run that cannot be diagnosed."""
    try:
        found = diagnose(run)
    except UsageError:
        return None
    return {"counted": found.counted, "lost": {str(cause): count for cause, count in found.counts.items()}}


def diagnosis_table(runs: Sequence[Facts], names: Sequence[str]) -> Table | None:
    """One row a run that can be diagnosed, if any of them lost a step."""
    rows = []
    for name, facts in zip(names, runs, strict=True):
        found = facts.get("diagnosis")
        if found is None:
            continue
        lost = sum(found["lost"].values())
        rows.append(
            [name, f"{found['counted']:,}", f"{lost:,}", *(f"{found['lost'][cause]:,}" for cause in Cause)]
        )
    if not any(row[2] != "0" for row in rows):
        return None
    columns = ["steps that count", "lost", *Cause]
    return make_table("Where steps were lost", {"run": False, **dict.fromkeys(map(str, columns), True)}, rows)
