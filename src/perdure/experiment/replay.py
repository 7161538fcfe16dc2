"""Plays a run's actions again in a fresh environment and compares every answer with the recorded one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from perdure.core.controller import answer_of, opening_of
from perdure.core.environment import Environment
from perdure.core.errors import ModelError
from perdure.core.session import Interaction, PastSession
from perdure.core.types import JSON, Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.experiment.experiment import Experiment
from perdure.experiment.parts import ENVIRONMENT
from perdure.experiment.recorded_calls import OtherCall, RecordedCalls
from perdure.experiment.runs import Run

Normalise = Callable[[str], str]


@dataclass(frozen=True)
class Difference:
    """One fact that did not reproduce. `step` counts actions from 1; 0 is the opening, None the verdict."""

    task_id: str
    repeat: int
    step: int | None
    fact: str
    recorded: str
    now: str


@dataclass(frozen=True)
class Replay:
    """What a replay found. `version_recorded` and `version_now` differ when nothing was played."""

    sessions: int
    """Sessions played again."""
    steps: int
    """Actions carried out again."""
    ungraded: int
    """Sessions that a callback kept from being graded, or from opening: they have no verdict to compare."""
    differing: int
    """Sessions with a difference."""
    differences: tuple[Difference, ...]
    """The first of them, a few a session at most."""
    version_recorded: str
    version_now: str

    @property
    def reproduces(self) -> bool:
        """Same version, something to play, and every observation and evaluation the same."""
        return self.version_recorded == self.version_now and self.sessions > 0 and not self.differing


def replay(
    run: Run,
    *,
    base: Path | None = None,
    sets: Iterable[str] = (),
    keep: int = 10,
    on_session: Callable[[int, int], None] = lambda done, total: None,
) -> Replay:
    """Replay every committed session, keeping the first `keep` differences.

    The code is what the run folder keeps of its plug-ins; with `base` it is what lies there now. `sets` are
    `key.path=value` changes of the configuration, such as another address of a server.

    Texts are compared as the environment's `normalise` gives them; a session stops at its first difference,
    because everything after it follows from it. An environment of another version is not played at all.
    Raises UsageError when the environment cannot be built any more, InfrastructureError when it breaks.
    """
    config = run.own_config(sets, base=base)
    with Experiment(config, base=base or run.base, asks_models=False) as experiment:
        recorded, now = run.environment_version, experiment.environment.version
        if recorded != now:
            return Replay(0, 0, 0, 0, (), recorded, now)
        sessions = steps = ungraded = differing = 0
        differences: list[Difference] = []
        for index, past in enumerate(run.sessions):
            calls = RecordedCalls(run.reader.calls(index), experiment.normalise)
            experiment.pool.recorder = calls
            found = next(_differences(past, experiment, calls), None)
            sessions += 1
            steps += len(past.interactions)
            ungraded += not _graded(past)
            if found is not None:
                differing += 1
                differences += [found] if len(differences) < keep else []
            on_session(sessions, len(run.sessions))
        return Replay(sessions, steps, ungraded, differing, tuple(differences), recorded, now)


def _differences(past: PastSession, experiment: Experiment, calls: RecordedCalls) -> Iterator[Difference]:
    """What did not reproduce, first things first. The environment's own model calls are served."""
    record, step = past.record, 0

    def differ(step: int | None, fact: str, recorded: JSON, now: JSON) -> Difference:
        return Difference(record.task_id, record.repeat, step, fact, str(recorded), str(now))

    try:
        trial = Trial(record.task_id, record.repeat, record.clock)
        for place, facts in _played_again(past, trial, experiment.environment, experiment.normalise, calls):
            for fact, (recorded, now) in facts.items():
                if recorded != now:
                    yield differ(place, fact, recorded, now)
            step = step if place is None else place + 1
        if _opened(past):
            calls.check_all_made(ENVIRONMENT)
    except OtherCall as other:
        yield differ(step, other.place, other.recorded, other.now)


Facts: TypeAlias = dict[str, tuple[JSON, JSON]]
"""What is compared, by name: as recorded, and now."""


def _played_again(
    past: PastSession, trial: Trial, environment: Environment, normalise: Normalise, calls: RecordedCalls
) -> Iterator[tuple[int | None, Facts]]:
    """The session's actions once more, with what each step gave. Raises OtherCall."""
    if not _opened(past):
        return
    try:
        opening = opening_of(environment, trial)
        if not opening.observation.status.is_terminal:
            yield 0, {"goal": (normalise(past.goal), normalise(opening.goal))}
    except KeyError:
        yield 0, {"task": ("known", "unknown")}
        return
    except ModelError as error:
        yield 0, {"set-up": (past.record.finish_reason, str(error))}
    for step, interaction in enumerate(past.interactions, 1):
        again = answer_of(environment, interaction.action)
        yield step, _observation_facts(interaction, again, normalise)
    owed = calls.owed(ENVIRONMENT)
    try:
        verdict = environment.complete()
    except ModelError as error:
        yield None, {"grading": (past.record.finish_reason, str(error))}
        return
    except OtherCall:
        if _graded(past) or owed:
            raise
        return  # a callback had skipped the grading, so that it asked nobody
    if _graded(past):
        yield None, _verdict_facts(past, verdict)


def _observation_facts(interaction: Interaction, again: Observation, normalise: Normalise) -> Facts:
    before = interaction.observation
    return {
        "text": (normalise(before.text), normalise(again.text)),
        "accepted": (before.accepted, again.accepted),
        "done": (before.done, again.done),
        "status": (before.status, again.status),
        "reward": (before.reward, again.reward),
    }


def _verdict_facts(past: PastSession, verdict: Evaluation) -> Facts:
    record = past.record
    return {
        "outcome": (record.outcome, verdict.outcome),
        "reward": (record.reward, verdict.reward),
        "detail": (dict(record.detail), dict(verdict.detail)),
    }


def _opened(past: PastSession) -> bool:
    """Whether the environment was reset: a session that a callback gave up before has nothing of it."""
    failed_opening = past.record.status is SessionStatus.TASK_ENVIRONMENT_ERROR
    return bool(past.goal or past.history or past.interactions or failed_opening)


def _graded(past: PastSession) -> bool:
    """Whether the environment's verdict was recorded: a callback may have skipped it."""
    return past.record.outcome is not EvaluationOutcome.UNKNOWN or bool(past.record.detail)
