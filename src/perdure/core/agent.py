"""Agents, and what a model sees within one task: the context strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from perdure.core.environment import Opening
from perdure.core.errors import ModelError
from perdure.core.model import LanguageModel
from perdure.core.randomness import keyed_seed
from perdure.core.session import Rejected, Session
from perdure.core.types import JSON, Message, Observation, Request, Sampling, Trial

_NO_TRIAL = Trial("")


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
        )

    @property
    def instructions_block(self) -> str:
        """Instructions, then experience, for strategies whose replies have a form of their own."""
        return "\n\n".join([self.instructions, *self.experience])

    @property
    def text_instructions(self) -> str:
        """Instructions, how a reply is written, experience: what is the same for all tasks stands first."""
        form = [self.reply_form] if self.reply_form else []
        return "\n\n".join([self.instructions, *form, *self.experience])


@dataclass(frozen=True)
class Absorbed:
    """What a strategy made of a reply: an action, or the error to ask again with."""

    action: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        if (self.action is None) == (self.error is None):
            raise ValueError("a reply becomes either an action or an error")


@runtime_checkable
class ContextStrategy(Protocol):
    """What the model sees within one task. One instance plays one task at a time."""

    schema: Mapping[str, JSON] | None
    """JSON Schema of a reply, sent to models that support constrained decoding; None for free text."""

    def start(self, opening: Opening) -> None:
        """A new task begins."""

    def render(self, view: ContextView) -> Sequence[Message]:
        """The prompt. Pure: the same view and the same past give the same messages."""

    def absorb(self, reply: str) -> Absorbed:
        """Read a reply. Proposes a change of the strategy's state, does not commit it. Never raises."""

    def observe(self, observation: Observation) -> None:
        """The environment answered: commit if `observation.accepted`; summarise here, through the pool."""

    def trace(self) -> JSON:
        """What is recorded with the session: patches, counts of failures. None for nothing; deterministic."""


class Agent(ABC):
    """Acts in one task at a time."""

    @abstractmethod
    def start(self, session: Session, opening: Opening) -> None:
        """A new task begins."""

    @abstractmethod
    def infer(self, view: ContextView) -> str:
        """The next raw reply. Raises ModelError when none can be had."""

    def absorb(self, reply: str) -> Absorbed:
        """Turn a raw reply into an action; by default the reply is the action."""
        return Absorbed(action=reply)

    def observe(self, observation: Observation) -> None:  # noqa: B027 - most scripted agents need no memory
        """The environment answered."""

    def trace(self) -> JSON:
        """What is recorded with the session, as JSON; None for nothing."""
        return None


class ModelAgent(Agent):
    """A language model behind a context strategy."""

    def __init__(
        self,
        model: LanguageModel,
        strategy: ContextStrategy,
        *,
        sampling: Sampling | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.strategy = strategy
        self._sampling = sampling or Sampling()
        self._seed = seed
        self._session = Session("")

    def start(self, session: Session, opening: Opening) -> None:
        """Begin a task with a fresh context."""
        self._session = session
        self.strategy.start(opening)

    def infer(self, view: ContextView) -> str:
        """Render the prompt and ask the model once."""
        outcome = self.model.generate([self.request(view)])[0]
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome.text

    def request(self, view: ContextView) -> Request:
        """What the model is asked when it sees this view."""
        return Request(
            messages=tuple(self.strategy.render(view)),
            schema=self.strategy.schema,
            sampling=self._keyed_sampling(),
        )

    def absorb(self, reply: str) -> Absorbed:
        """As the strategy reads it."""
        return self.strategy.absorb(reply)

    def observe(self, observation: Observation) -> None:
        """Let the strategy commit or summarise."""
        self.strategy.observe(observation)

    def trace(self) -> JSON:
        """What the strategy recorded."""
        return self.strategy.trace()

    def _keyed_sampling(self) -> Sampling:
        """A seed for each draw, keyed by run seed, task, repeat and turn; greedy decoding needs none."""
        if self._sampling.temperature == 0.0 or self._sampling.seed is not None:
            return self._sampling
        session = self._session
        return replace(
            self._sampling,
            seed=keyed_seed(self._seed, session.task_id, session.sample, session.turns, "sampling"),
        )
