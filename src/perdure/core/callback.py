"""Callbacks: the seven events at which a learning method sees a run and may steer it (B.1.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Environment
from perdure.core.errors import ConfigError
from perdure.core.plain_json import beyond_json
from perdure.core.session import NoPastSessions, PastSessions, Session
from perdure.core.types import JSON, Reply

Reach: TypeAlias = Literal["session", "stream", "watch"]


class Step(StrEnum):
    """The steps of the loop that a callback may skip once."""

    RESET = "reset"
    INFERENCE = "inference"
    INTERACT = "interact"
    COMPLETE = "complete"


class SessionController:
    """One-shot flags: `skip` raises one, the loop spends it by `take` when it comes to that step."""

    def __init__(self) -> None:
        self._skipped: set[Step] = set()

    def skip(self, step: Step) -> None:
        """Do not do this step the next time it comes up."""
        self._skipped.add(step)

    def take(self, step: Step) -> bool:
        """Whether to skip this step now; the flag is down afterwards."""
        if step not in self._skipped:
            return False
        self._skipped.remove(step)
        return True

    def clear(self) -> None:
        """Lower every flag; done before each session."""
        self._skipped.clear()


@dataclass(frozen=True)
class CallbackContext:
    """The one argument of every handler."""

    agent: Agent
    environment: Environment
    session: Session
    past_sessions: PastSessions
    """Finished sessions of this run, oldest first; read from disk when indexed."""
    controller: SessionController
    reply_form: str = ""
    """How a free-text reply writes an action."""

    def read_action(self, reply: Reply) -> str | None:
        """The key of the action that a reply proposes; None where there is none."""
        action = self.agent.read(reply)
        return None if action is None else self.environment.read_action(action)

    def view(self, experience: Sequence[str] = ()) -> ContextView:
        """What the agent sees now, with more experience than the session holds if wanted."""
        return ContextView.of(self.session, self.environment.instructions, self.reply_form, experience)


class Callback:
    """Override the events of interest; by default none of them changes a run.

    State that must survive a crash: `on_state_save` returns what changed in this task (committed in the same
    append as the session), `snapshot_state` returns everything (written every `snapshot_every` tasks), and
    `restore_state` gets the newest snapshot with the deltas after it. All three speak JSON: what would not
    come back as it was (a set, NaN, a key that is no string) stops the run with ConfigError.
    """

    name: str = ""
    """What it is called in records and tables; the class name's snake case where it is empty."""
    label: str = ""
    """Set by a run whose configuration gives one, to tell several callbacks of one class apart."""
    reach: Reach = "stream"
    """How far it reaches. `session`: it keeps nothing from one session to the next and sees no past ones.
    `stream`: it has memory over sessions. `watch`: it changes nothing, and is no part of a run's identity."""
    learns: bool = True
    """Whether its memory over the stream is frozen by `stateless` and probes. A guard has a memory but does
    not learn."""

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """Take up where an interrupted run stopped. Called at most once a run, before its first session.

        `state` is None before the first snapshot; a delta is None for a task in which nothing changed.
        """

    def on_session_create(self, ctx: CallbackContext) -> None:
        """A session was created; it holds only the task id. Skip RESET here to give the task up."""

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """The environment was reset; the session holds its goal and opening history."""

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """A reply is in `ctx.session.reply`: replace it with `receive`, or skip INTERACT."""

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        """The environment answered an action; the session may have ended."""

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """The session has its outcome. Learn here."""

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """What changed in this task, as JSON; the controller commits it with the session."""
        return None

    def snapshot_state(self) -> JSON:
        """The whole state, as JSON, so that a restore need not read every delta."""
        return None

    def close(self) -> None:
        """The run is over, or was interrupted: put terminals and files back in order."""


class CallbackList:
    """Runs every callback's handler in order. A failure is never swallowed; it says whose it was."""

    def __init__(self, callbacks: Iterable[Callback] = ()) -> None:
        self._callbacks: dict[str, Callback] = {}
        for callback in callbacks:
            label = label_of(callback)
            if label in self._callbacks:
                raise ConfigError(f"two callbacks are named {label!r}; give one of them a label of its own")
            self._callbacks[label] = callback

    def items(self) -> Iterable[tuple[str, Callback]]:
        """Labels and callbacks, in order."""
        return self._callbacks.items()

    def fire(self, event: str, ctx: CallbackContext) -> None:
        """Call one of the five session events on everybody."""
        for label in self._callbacks:
            self.fire_one(label, event, ctx)

    def fire_one(self, label: str, event: str, ctx: CallbackContext) -> None:
        """Call one event on one of them; who reaches no further than a session sees no past ones."""
        callback = self._callbacks[label]
        handler: Callable[[CallbackContext], None] = getattr(callback, event)
        if callback.reach == "session":
            ctx = replace(ctx, past_sessions=NoPastSessions())
        with _blamed(label, event):
            handler(ctx)

    def save(self, ctx: CallbackContext) -> dict[str, JSON]:
        """Every callback's delta; those with nothing to say are left out."""
        return self._collect("on_state_save", lambda callback: callback.on_state_save(ctx))

    def snapshot(self) -> dict[str, JSON]:
        """Every callback's whole state."""
        return self._collect("snapshot_state", lambda callback: callback.snapshot_state())

    def close(self) -> None:
        """Close every callback, in order, also when one of them fails."""
        with ExitStack() as stack:
            for callback in reversed(self._callbacks.values()):
                stack.callback(callback.close)

    def restore(self, states: Mapping[str, JSON], deltas: Sequence[Mapping[str, JSON]]) -> None:
        """Give every callback its newest snapshot and the deltas after it."""
        for name, callback in self._callbacks.items():
            with _blamed(name, "restore_state"):
                callback.restore_state(states.get(name), [delta.get(name) for delta in deltas])

    def _collect(self, event: str, ask: Callable[[Callback], JSON]) -> dict[str, JSON]:
        found = {}
        for name, callback in self._callbacks.items():
            with _blamed(name, event):
                answer = ask(callback)
                if (lost := beyond_json(answer, "state")) is not None:
                    raise ConfigError(f"callback {name!r}: {event} returned what JSON cannot hold: {lost}")
            if answer is not None:
                if callback.reach != "stream":
                    reach = f"its reach is {callback.reach!r}, so it has none"
                    raise ConfigError(f"callback {name!r}: {event} returned a state; {reach}")
                found[name] = answer
        return found


@contextmanager
def _blamed(name: str, event: str) -> Iterator[None]:
    """A failure passes through, and says whose it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"raised by the callback {name!r} in {event}")
        raise


def label_of(callback: Callback | type[Callback]) -> str:
    """What a callback is called in a run: its label, else its name, else its class's name."""
    kind = callback if isinstance(callback, type) else type(callback)
    return callback.label or callback.name or snake_case(kind.__name__)


def snake_case(name: str) -> str:
    """`ExperienceReplay` → `experience_replay`."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))
