"""Plays a run's actions again in a fresh environment and compares every answer with the recorded one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from perdure.core.environment import Environment
from perdure.core.session import Interaction, PastSession
from perdure.core.types import JSON, Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.experiment.experiment import Experiment
from perdure.experiment.runs import Run

Normalise = Callable[[str], str]


@dataclass(frozen=True)
class Difference:
    """One fact that did not reproduce. `step` counts actions from 1; 0 is the opening, None the verdict."""

    task_id: str
    sample: int
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
    with Experiment(config, base=base or run.base) as experiment:
        recorded, now = run.environment_version, experiment.environment.version
        if recorded != now:
            return Replay(0, 0, 0, 0, (), recorded, now)
        sessions = steps = ungraded = differing = 0
        differences: list[Difference] = []
        for past in run.sessions:
            trial = Trial(past.record.task_id, past.record.sample, run.config.instant)
            found = next(_differences(past, trial, experiment.environment, experiment.normalise), None)
            sessions += 1
            steps += len(past.interactions)
            ungraded += not _graded(past)
            if found is not None:
                differing += 1
                differences += [found] if len(differences) < keep else []
            on_session(sessions, len(run.sessions))
        return Replay(sessions, steps, ungraded, differing, tuple(differences), recorded, now)


def _differences(
    past: PastSession, trial: Trial, environment: Environment, normalise: Normalise
) -> Iterator[Difference]:
    record = past.record

    def differ(step: int | None, facts: dict[str, tuple[JSON, JSON]]) -> Iterator[Difference]:
        for fact, (before, now) in facts.items():
            if before != now:
                yield Difference(record.task_id, record.sample, step, fact, str(before), str(now))

    if not _opened(past):
        return
    try:
        opening = environment.reset(trial)
    except KeyError:
        yield Difference(record.task_id, record.sample, 0, "task", "known", "unknown")
        return
    if not opening.observation.status.is_terminal:
        yield from differ(0, {"goal": (past.goal, opening.goal)})
    for step, interaction in enumerate(past.interactions, 1):
        again = environment.interact(interaction.action)
        yield from differ(step, _observation_facts(interaction, again, normalise))
    verdict = environment.complete()
    if _graded(past):
        yield from differ(None, _verdict_facts(past, verdict))


def _observation_facts(
    interaction: Interaction, again: Observation, normalise: Normalise
) -> dict[str, tuple[JSON, JSON]]:
    before = interaction.observation
    return {
        "text": (normalise(before.text), normalise(again.text)),
        "accepted": (before.accepted, again.accepted),
        "done": (before.done, again.done),
        "status": (before.status, again.status),
        "reward": (before.reward, again.reward),
    }


def _verdict_facts(past: PastSession, verdict: Evaluation) -> dict[str, tuple[JSON, JSON]]:
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
