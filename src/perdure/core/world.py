"""What an environment package exports, as `WORLD`: all that anybody may ask of it beside playing it.

What depends on the configuration takes the environment. It is read once a run: it is the same for every
instance that one configuration builds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from perdure.core.agent import Agent
from perdure.core.environment import Environment
from perdure.core.types import JSON, Message, Trial

Reader: TypeAlias = Callable[[Sequence[Message]], str]
"""A program in place of a model: prompt → reply. Deterministic, never raises."""


def unchanged(observation: str) -> str:
    """The `normalise` of worlds whose observations never differ between two runs."""
    return observation


@dataclass(frozen=True, kw_only=True)
class StateSupport:
    """What strategies need that keep a state in place of a history."""

    schema: Any = None
    """What an agent without a history has to know: a pydantic model, a JSON Schema, or None for notes. The
    first of its `examples` is what the worked example of an answer writes into the state."""
    action_form: str
    """How one action is written by itself, to follow the words "the one action to take now". The first text
    between backticks in it is the action of the worked example."""
    action_pattern: str | Sequence[str] | None = None
    """A regular expression for whole actions, or the list of all of them."""
    no_op: str | None = None
    """The action that changes nothing and ends nothing."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one step asks for, before it is answered."""

    is_right: Callable[[str], bool]
    """Whether an action, as a reply writes it, would answer the step rightly. Nothing is carried out."""
    solvable: bool = True
    """False where what came before left no right answer."""


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Programs that play as well as their prompt allows, and the truth that a state is compared with."""

    perfect_reader: Reader
    """The best reply to a prompt, in the form that the prompt asks for."""
    perfect_summary: Reader
    """What a prompt tells, as prose that both readers read back."""
    true_states: Callable[[Any, Trial, Iterable[str]], Iterator[JSON]]
    """(environment, trial, actions) → the true state after each action, found by playing them again."""
    fidelity: Callable[[JSON, JSON], float]
    """(state, truth) → how much of the truth a state holds, in [0, 1]."""
    asked: Callable[[Any, Trial, Iterable[str]], Iterator[Asked | None]] | None = None
    """(environment, trial, actions) → what each action's step asked for, found by playing them again; None
    for a step that does not count."""


@dataclass(frozen=True, kw_only=True)
class World:
    """An environment and what belongs to it. None: the world has no such thing.

    A variant of a world is `dataclasses.replace(WORLD, environment=…, normalise=…)`.
    """

    environment: Callable[..., Environment]
    """The class; its constructor's signature is the schema of the configuration."""
    max_interactions: int
    """The benchmark's own limit of actions a task: the default of `[limits]`."""
    do_nothing: str
    """The reply that ends a task without doing anything: the floor."""
    reply_form: Callable[[Any], str]
    """How a free-text reply writes an action, ending with its one example, below a line that ends with
    `example:`; no part of the instructions."""
    normalise: Callable[[str], str] = unchanged
    """An observation without what legitimately differs between two runs, for resume and replay."""
    oracle: Callable[[Any], Agent] | None = None
    """An agent that solves every task through the environment, and answers with what that returned."""
    skills: Callable[[Any], Mapping[str, Sequence[str]]] | None = None
    """Task id → the skills that the task needs, for orders and curves by skill."""
    state: Callable[[Any], StateSupport] | None = None
    readers: Readers | None = None
    side_by_side: bool = False
    """Several instances in one process, also in threads, do not disturb each other."""
    tools: Callable[[Any], Sequence[Mapping[str, JSON]]] | None = None
    """Definitions of native tool calls (OpenAI's shape), where the world has tools."""
    check: Callable[[Any, str], str | None] | None = None
    """(environment, action) → what is wrong with an action before it costs a round; pure."""
    max_parallel: Callable[[Any], int] | None = None
    """How many environments one machine can hold at once; None: as many as are wanted."""
    resolve_parameters: Callable[..., Mapping[str, JSON]] | None = None
    """Parameters that this machine decides, such as `root = "auto"`, from those of the configuration that it
    names: {name: value}. They take the place of the written ones and are part of the run's identity."""
    surroundings: Callable[..., Mapping[str, str]] | None = None
    """What a run stands on without being part of its identity, such as the state of installed programs:
    {name: text}. It is recorded with the run; that it has changed is told, not refused."""
