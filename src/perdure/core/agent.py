"""Agents, and what a model sees within one task: the context strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from perdure.core.environment import Opening
from perdure.core.errors import ModelError
from perdure.core.pool import ModelHandle
from perdure.core.randomness import keyed_seed
from perdure.core.session import Rejected, Session
from perdure.core.types import JSON, Message, Observation, Reply, Request, Sampling, Trial

_NO_TRIAL = Trial("")

UNREADABLE = "This reply holds no valid action. Answer again in the required format."
"""Shown to the model when it is asked again."""


def refusal(reply: Reply, error: str = UNREADABLE) -> str:
    """What a model is told of a reply that cannot be used: that it was cut, where it was, else the error."""
    if not reply.is_cut:
        return error
    length = f" after {reply.usage.completion_tokens} tokens" if reply.usage.completion_tokens else ""
    return f"Your reply was cut{length}, before it was complete. Answer again, in fewer words."


@dataclass(frozen=True)
class ContextView:
    """Everything a strategy may render. What it leaves out, the model does not see."""

    instructions: str
    """What the world is and which actions it has."""
    goal: str
    experience: tuple[str, ...]
    """Lessons of earlier tasks; constant within a task, part of the instructions block."""
    history: tuple[Message, ...]
    rejected: tuple[Rejected, ...] = ()
    """Replies since the last observation that did not become an action, each with its error."""
    reply_form: str = ""
    """How a free-text reply writes an action; strategies with a reply format of their own leave it out."""
    trial: Trial = _NO_TRIAL
    turn: int = 0
    """Inferences of this task so far, the one under way included."""
    note: str = ""
    """What is to be seen beside the latest observation, in this turn alone."""

    @classmethod
    def of(
        cls, session: Session, instructions: str, reply_form: str = "", experience: Sequence[str] = ()
    ) -> ContextView:
        """What there is to see of a session under way, with more experience than it holds if wanted."""
        return cls(
            trial=session.trial,
            turn=session.turns,
            instructions=instructions,
            reply_form=reply_form,
            goal=session.goal,
            experience=(*session.experience, *experience),
            history=session.history,
            rejected=session.rejected,
            note=session.note_text,
        )

    @property
    def noted_history(self) -> tuple[Message, ...]:
        """The history, with the note under the latest observation."""
        if not self.note or not self.history:
            return self.history
        *before, latest = self.history
        return (*before, Message(latest.role, f"{latest.text}\n\n{self.note}"))

    @property
    def instructions_block(self) -> str:
        """Instructions, then experience."""
        return self.instructions_with("")

    @property
    def text_instructions(self) -> str:
        """Instructions, how a reply is written, experience: what is the same for all tasks stands first."""
        return self.instructions_with(self.reply_form)

    def instructions_with(self, form: str) -> str:
        """The same with another form of a reply; nothing follows its example but experience."""
        return "\n\n".join(part for part in (self.instructions, form, *self.experience) if part)


@dataclass(frozen=True)
class Absorbed:
    """What became of a reply: an action, or the error to ask again with."""

    action: str | None = None
    error: str | None = None
    fallback: bool = False
    """The reply could not be used: the action is taken in its place."""
    tolerances: tuple[str, ...] = ()
    """What had to be forgiven to read the reply, by name."""

    def __post_init__(self) -> None:
        if (self.action is None) == (self.error is None):
            raise ValueError("a reply becomes either an action or an error")


@runtime_checkable
class ContextStrategy(Protocol):
    """What the model sees within one task. One instance plays one task at a time."""

    schema: Mapping[str, JSON] | None
    """JSON Schema of a reply, sent to models that support constrained decoding; None for free text."""

    def start(self, opening: Opening, instructions: str) -> None:
        """A new task begins. `instructions` are what the world is, without experience: for summarisers."""

    def read(self, reply: Reply) -> str | None:
        """The text of the action that a reply proposes, or None. Pure: what is compared and voted on."""

    def render(self, view: ContextView) -> Sequence[Message]:
        """The prompt. Pure: the same view and the same past give the same messages, and change nothing."""

    def absorb(self, reply: Reply) -> Absorbed:
        """Read a reply. Proposes a change of the strategy's state, does not commit it. Never raises."""

    def observe(self, observation: Observation) -> None:
        """The environment answered: commit if `observation.accepted`; summarise here, through the pool."""

    def trace(self) -> JSON:
        """What is recorded with the session: patches, counts of failures. None for nothing; deterministic.

        A strategy that keeps a state says under `state_updates` how often it changed: every table shows it.
        """


class Agent(ABC):
    """Acts in one task at a time."""

    @abstractmethod
    def start(self, trial: Trial, opening: Opening) -> None:
        """A new task begins."""

    @abstractmethod
    def infer(self, view: ContextView) -> Reply | str:
        """The next reply, or its text. Raises ModelError when none can be had."""

    def read(self, reply: Reply) -> str | None:
        """The text of the action that a reply proposes, or None; pure."""
        return reply.text

    def absorb(self, reply: Reply) -> Absorbed:
        """Turn a reply into an action; by default its text is the action."""
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:  # noqa: B027 - most scripted agents need no memory
        """The environment answered."""

    def trace(self) -> JSON:
        """What is recorded with the session, as JSON; None for nothing."""
        return None


class ModelAgent(Agent):
    """A language model behind a context strategy.

    `instructions`: the environment's, for the strategy's summarisers. A reply is valid when the strategy
    absorbs it and `read_action` (the environment's) reads its action. An unusable one is asked again, up to
    `retries` times a step; then `no_op` is taken, where the world has one, or the reply's text as it is.
    """

    def __init__(
        self,
        model: ModelHandle,
        strategy: ContextStrategy,
        *,
        instructions: str = "",
        sampling: Sampling | None = None,
        seed: int = 0,
        retries: int = 0,
        read_action: Callable[[str], str | None] | None = None,
        no_op: str | None = None,
    ) -> None:
        self.model = model
        self.strategy = strategy
        self._instructions = instructions
        self._sampling = sampling or Sampling()
        self._seed = seed
        self._retries = retries
        self._read_action = read_action
        self._no_op = no_op
        self._trial = _NO_TRIAL
        self._rejected = 0
        self._fell_back = False

    def start(self, trial: Trial, opening: Opening) -> None:
        """Begin a task with a fresh context."""
        self._trial = trial
        self._rejected = 0
        self._fell_back = False
        self.strategy.start(opening, self._instructions)

    def infer(self, view: ContextView) -> Reply:
        """Render the prompt and ask the model once."""
        self._rejected = len(view.rejected)
        outcome = self.model.generate([self.request(view)])[0]
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def request(self, view: ContextView) -> Request:
        """What the model is asked when it sees this view."""
        return Request(
            messages=tuple(self.strategy.render(view)),
            schema=self.strategy.schema,
            sampling=self._keyed_sampling(view.turn),
        )

    def read(self, reply: Reply) -> str | None:
        """As the strategy reads it."""
        return self.strategy.read(reply)

    def absorb(self, reply: Reply) -> Absorbed:
        """As the strategy absorbs it, if the environment reads the action; else, in the end, a fallback."""
        absorbed = self.strategy.absorb(reply)
        if absorbed.action is not None and self._is_unreadable(absorbed.action):
            absorbed = Absorbed(error=UNREADABLE)
        self._fell_back = absorbed.error is not None and self._rejected >= self._retries
        if absorbed.error is not None and not self._fell_back:
            return Absorbed(error=refusal(reply, absorbed.error))
        if not self._fell_back:
            return absorbed
        return Absorbed(action=reply.text if self._no_op is None else self._no_op, fallback=True)

    def observe(self, observation: Observation) -> None:
        """Let the strategy commit or summarise; what a reply proposed that was not carried out is refused."""
        if self._fell_back:
            observation = replace(observation, accepted=False)
        self._fell_back = False
        self.strategy.observe(observation)

    def trace(self) -> JSON:
        """What the strategy recorded."""
        return self.strategy.trace()

    def _is_unreadable(self, action: str) -> bool:
        return self._read_action is not None and self._read_action(action) is None

    def _keyed_sampling(self, turn: int) -> Sampling:
        """A seed for each draw, keyed by run seed, task, repeat and turn; greedy decoding needs none."""
        if self._sampling.temperature == 0.0 or self._sampling.seed is not None:
            return self._sampling
        trial = self._trial
        return replace(
            self._sampling,
            seed=keyed_seed(self._seed, trial.task_id, trial.repeat, turn, "sampling"),
        )
