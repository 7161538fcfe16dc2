"""The loop: create a session, reset, take turns, complete, commit. Everything else is somebody else's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perdure.core.agent import Agent, ContextView
from perdure.core.callback import CallbackContext, CallbackList, SessionController, Step
from perdure.core.draws import Draws
from perdure.core.environment import Environment
from perdure.core.errors import ContractBroken, ModelError, RunFolderError
from perdure.core.model import ModelPool
from perdure.core.plain_json import beyond_json
from perdure.core.recording import SessionStore, TaskJournal
from perdure.core.session import Session, SessionStatus
from perdure.core.types import JSON, Trial


@dataclass(frozen=True)
class Limits:
    """What ends a session that does not end itself."""

    max_interactions: int
    """Actions that reach the environment: the benchmark's own limit."""
    max_turns: int
    """Inferences, with skipped, repeated and retried ones."""
    max_seconds: float | None = None
    """Wall-clock time of a task."""
    ask_beyond_limit: bool = False
    """As the paper: at the limit the model is asked once more and its reply discarded."""


class Controller:
    """Runs a schedule of trials, one after the other: task order is the experiment."""

    def __init__(
        self,
        *,
        schedule: Sequence[Trial],
        environment: Environment,
        agent: Agent,
        callbacks: CallbackList,
        pool: ModelPool,
        store: SessionStore,
        journal: TaskJournal,
        limits: Limits,
        reply_form: str = "",
    ) -> None:
        self._schedule = schedule
        self._environment = environment
        self._agent = agent
        self._callbacks = callbacks
        self._pool = pool
        self._store = store
        self._journal = journal
        self._limits = limits
        self._reply_form = reply_form
        self._flags = SessionController()

    def run(self) -> Mapping[str, JSON]:
        """Restore what was committed, play the rest, return the environment's metrics."""
        self.restore()
        self.play(len(self._schedule))
        return self.finish()

    def play(self, until: int) -> None:
        """Play on until so many sessions are committed."""
        self._pool.recorder = self._journal
        for index in range(len(self._store.past), until):
            trial = self._schedule[index]
            session = Session(trial.task_id, index=index, sample=trial.repeat, clock=trial.clock)
            self._pool.draws = Draws(session)
            self._journal.begin(index, trial.task_id, trial.repeat)
            self._flags.clear()
            ctx = CallbackContext(
                self._agent, self._environment, session, self._store.past, self._flags, self._reply_form
            )
            self._session(session, ctx)
            self._commit(session, ctx)

    def finish(self) -> Mapping[str, JSON]:
        """The environment's metrics over every session, written beside them."""
        metrics = {"environment": dict(self._environment.calculate_metric(self._store.past.records()))}
        self._store.write_metrics(metrics)
        return metrics

    def _session(self, session: Session, ctx: CallbackContext) -> None:
        self._callbacks.fire("on_session_create", ctx)
        opened = not self._flags.take(Step.RESET)
        started = opened and self._reset(session)
        if opened:
            self._callbacks.fire("on_environment_reset", ctx)
        while session.status is SessionStatus.RUNNING:
            self._turn(session, ctx)
        if started:
            session.trace = self._checked_trace(session)
        if opened and not self._flags.take(Step.COMPLETE):
            session.evaluate(self._environment.complete())
            self._callbacks.fire("on_environment_complete", ctx)
        session.settle()

    def _turn(self, session: Session, ctx: CallbackContext) -> None:
        if self._limit_reached(session):
            return
        if self._flags.take(Step.INFERENCE):
            session.take_turn()
        elif self._infer(session):
            self._callbacks.fire("on_agent_inference", ctx)
        if self._flags.take(Step.INTERACT) and session.reply is not None:
            session.reject("The reply was set aside.")
        action = self._absorb(session)
        if action is None:
            return
        observation = self._environment.interact(action)
        self._journal.observe(observation)
        session.observe(action, observation)
        self._callbacks.fire("on_environment_interact", ctx)
        self._agent.observe(observation)

    def _infer(self, session: Session) -> bool:
        """Ask the agent once; False when no reply can be had, which ends the session."""
        session.take_turn()
        try:
            session.receive(self._agent.infer(self._view(session)))
        except ModelError as error:
            session.finish(error.status, str(error))
            return False
        return True

    def _absorb(self, session: Session) -> str | None:
        """The action of the reply under way, or None. What the agent cannot read it is asked again."""
        while session.status is SessionStatus.RUNNING and session.reply is not None:
            absorbed = self._agent.absorb(session.reply)
            if absorbed.action is not None:
                return absorbed.action
            session.reject(absorbed.error or "")
            if self._limit_reached(session) or not self._infer(session):
                break
        return None

    def _reset(self, session: Session) -> bool:
        """Open the task; False when its own set-up failed, of which the agent hears nothing."""
        opening = self._environment.reset(session.trial)
        self._journal.observe(opening.observation)
        if opening.observation.status.is_terminal:
            session.finish(opening.observation.status, opening.observation.reason)
            return False
        session.start(opening.goal, opening.history)
        self._agent.start(session, opening)
        return True

    def _checked_trace(self, session: Session) -> JSON:
        """What the agent recorded. Raises ContractBroken for what no file could give back."""
        trace = self._agent.trace()
        if (lost := beyond_json(trace, "trace")) is not None:
            raise ContractBroken(f"the agent's trace of task {session.task_id!r} is no JSON: {lost}")
        return trace

    def _view(self, session: Session) -> ContextView:
        return ContextView.of(session, self._environment.instructions, self._reply_form)

    def _limit_reached(self, session: Session) -> bool:
        limits = self._limits
        if len(session.interactions) >= limits.max_interactions:
            reason = f"{limits.max_interactions} interactions used"
        elif session.turns >= limits.max_turns:
            reason = f"{limits.max_turns} turns used"
        elif limits.max_seconds is not None and self._journal.seconds >= limits.max_seconds:
            reason = f"{limits.max_seconds} seconds used"
        else:
            return False
        if limits.ask_beyond_limit:
            try:
                self._agent.infer(self._view(session))
            except ModelError as error:
                session.finish(error.status, str(error))
                return True
        session.finish(SessionStatus.TASK_LIMIT_REACHED, reason)
        return True

    def _commit(self, session: Session, ctx: CallbackContext) -> None:
        deltas = self._callbacks.save(ctx)
        self._journal.settle()
        self._store.commit(session, self._journal, deltas, self._pool.drain_charges())
        self._snapshot_if_due()

    def _snapshot_if_due(self) -> None:
        if self._store.snapshot_due:
            self._store.write_snapshot(self._callbacks.snapshot())

    def restore(self) -> None:
        """Take up what was committed; once, before the first `play`.

        It must begin as the schedule does, and may be longer. Raises RunFolderError.
        """
        for line, trial in zip(self._store.past.lines(), self._schedule, strict=False):
            if (line["task"], line["sample"]) != (trial.task_id, trial.repeat):
                raise RunFolderError(
                    f"session {line['index']} of {str(self._store.folder)!r} is task {line['task']!r}, "
                    f"this schedule has {trial.task_id!r} there; give another --out"
                )
        if len(self._store.past):
            states, deltas = self._store.callback_state()
            self._callbacks.restore(states, deltas)
            # The process may have died between a commit and the snapshot after it.
            self._snapshot_if_due()
