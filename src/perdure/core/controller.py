"""The loop: create a session, reset, take turns, complete. Everything else is somebody else's."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.core.agent import Agent, ContextView
from perdure.core.callback import CallbackContext, CallbackList, SessionController, Step
from perdure.core.environment import Environment, Opening, opening_problem
from perdure.core.errors import ContractBroken, ModelError
from perdure.core.handed_over import observation_problem
from perdure.core.plain_json import beyond_json
from perdure.core.recording import FinishedTask, TaskLog
from perdure.core.session import PastSessions, Session, SessionStatus
from perdure.core.types import JSON, Observation, Trial


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
    """Plays trials, one at a time."""

    def __init__(
        self,
        *,
        environment: Environment,
        agent: Agent,
        callbacks: CallbackList,
        limits: Limits,
        reply_form: str = "",
    ) -> None:
        self._environment = environment
        self._agent = agent
        self._callbacks = callbacks
        self._limits = limits
        self._reply_form = reply_form
        self._flags = SessionController()
        self._log: TaskLog

    def play(self, index: int, trial: Trial, log: TaskLog, past: PastSessions) -> FinishedTask:
        """Play one trial, the `index`-th of the schedule; `past` are the sessions that callbacks see.

        Raises Divergence when its re-execution differs from what `log` holds.
        """
        self._log = log
        self._flags.clear()
        session = Session(trial.task_id, index=index, repeat=trial.repeat, clock=trial.clock)
        ctx = CallbackContext(self._agent, self._environment, session, past, self._flags, self._reply_form)
        factory = self._environment.history_factory
        before = factory.items()
        self._play(session, ctx)
        deltas = self._callbacks.save(ctx)
        log.check_complete()
        edited = after if (after := factory.items()) != before else None
        return FinishedTask(session, log.calls, deltas, log.charges, log.times, edited)

    def _play(self, session: Session, ctx: CallbackContext) -> None:
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
            self._grade(session)
            self._callbacks.fire("on_environment_complete", ctx)
        session.conclude()

    def _turn(self, session: Session, ctx: CallbackContext) -> None:
        """One inference and what it leads to. A reply that is rejected is answered by the next turn's."""
        if self._end_at_limit(session):
            return
        if self._flags.take(Step.INFERENCE):
            self._take_turn(session)
        elif self._infer(session):
            self._callbacks.fire("on_agent_inference", ctx)
        if self._flags.take(Step.INTERACT) and session.reply is not None:
            session.reject("The reply was set aside.")
        action = self._absorb(session)
        if action is None:
            return
        self._log.proceed()
        observation = self._log.observe(answer_of(self._environment, action))
        session.observe(action, observation)
        self._callbacks.fire("on_environment_interact", ctx)
        self._agent.observe(observation)

    def _take_turn(self, session: Session) -> None:
        session.take_turn()
        self._log.turn = session.turns

    def _infer(self, session: Session) -> bool:
        """Ask the agent once; False when no reply can be had, which ends the session."""
        self._take_turn(session)
        try:
            session.receive(self._agent.infer(self._view(session)))
        except ModelError as error:
            session.finish(error.status, str(error))
            return False
        return True

    def _absorb(self, session: Session) -> str | None:
        """The action of the reply under way, or None."""
        if session.status is not SessionStatus.RUNNING or session.reply is None:
            return None
        absorbed = self._agent.absorb(session.reply)
        if absorbed.action is None:
            session.reject(absorbed.error or "")
        elif absorbed.fallback:
            session.fall_back()
        elif absorbed.tolerances:
            session.tolerated += 1
        return absorbed.action

    def _reset(self, session: Session) -> bool:
        """Open the task; False when its own set-up failed, of which the agent hears nothing."""
        try:
            opening = self._log.open(opening_of(self._environment, session.trial))
        except ModelError as error:
            session.finish(SessionStatus.TASK_ENVIRONMENT_ERROR, str(error))
            return False
        if opening.observation.status.is_terminal:
            session.finish(opening.observation.status, opening.observation.reason)
            return False
        session.start(opening.goal, opening.history)
        self._agent.start(session.trial, opening)
        return True

    def _grade(self, session: Session) -> None:
        try:
            session.evaluate(self._environment.complete())
        except ModelError as error:
            session.fail_grading(str(error))

    def _checked_trace(self, session: Session) -> JSON:
        """What the agent recorded. Raises ContractBroken for what no file could give back."""
        trace = self._agent.trace()
        if (lost := beyond_json(trace, "trace")) is not None:
            raise ContractBroken(f"the agent's trace of task {session.task_id!r} is no JSON: {lost}")
        return trace

    def _view(self, session: Session) -> ContextView:
        return ContextView.of(session, self._environment.instructions, self._reply_form)

    def _end_at_limit(self, session: Session) -> bool:
        """End a session that has used up a limit; whether it had."""
        limits = self._limits
        if len(session.interactions) >= limits.max_interactions:
            reason = f"{limits.max_interactions} interactions used"
        elif session.turns >= limits.max_turns:
            reason = f"{limits.max_turns} turns used"
        elif limits.max_seconds is not None and self._log.seconds >= limits.max_seconds:
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


def opening_of(environment: Environment, trial: Trial) -> Opening:
    """How a task opens. Raises ContractBroken for what is no opening, and what `reset` raises."""
    opening = environment.reset(trial)
    if (problem := opening_problem(opening)) is not None:
        raise ContractBroken(f"the environment opened task {trial.task_id!r} with {problem}")
    return opening


def answer_of(environment: Environment, action: str) -> Observation:
    """The environment's answer. Where a model that it asks itself fails, the task has failed.

    Raises ContractBroken for what is no observation.
    """
    try:
        observation = environment.interact(action)
    except ModelError as error:
        status = SessionStatus.TASK_ENVIRONMENT_ERROR
        return Observation("", accepted=False, done=True, status=status, reason=str(error))
    if (problem := observation_problem(observation)) is not None:
        raise ContractBroken(f"the environment answered an action with {problem}")
    return observation
