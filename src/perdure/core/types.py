"""The data that crosses every boundary: frozen, JSON-shaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from json import dumps
from typing import Any, Literal, TypeAlias, get_args

from perdure.core.computed_once import computed_once
from perdure.core.parts import Part, Reasoning, ToolCall, checked_parts, encode_parts, is_one_text, said
from perdure.core.usage import TokenLogprob, Usage

JSON: TypeAlias = Any
"""Anything `json.dumps` accepts; used only at the edges where the shape belongs to a plugin."""

Role: TypeAlias = Literal["system", "user", "agent"]


_ROLES = frozenset(get_args(Role))

NO_TEXT = "(no text)"
"""Stands in the history for a reply without text: many servers refuse an empty turn."""


def text_digest(text: str) -> str:
    """Content address of a text: 32 hex digits of BLAKE2b. Lone surrogates are allowed."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, init=False)
class Message:
    """One item of an interaction history or of a prompt: `Message("user", "a text")`, or several parts."""

    role: Role
    parts: tuple[Part, ...]

    def __init__(self, role: Role, content: str | Iterable[Part]) -> None:
        """Raises ValueError for an unknown role, TypeError for a content that is none."""
        if role not in _ROLES:
            raise ValueError(f"a message's role is 'system', 'user' or 'agent', not {role!r:.80}")
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", checked_parts(content))

    @computed_once
    def text(self) -> str:
        """What is said."""
        return said(self.parts)

    @computed_once
    def is_text(self) -> bool:
        """It has no other part than one text."""
        return is_one_text(self.parts)

    @computed_once
    def content(self) -> str:
        """Everything as one text: the text itself, or the parts in JSON."""
        return self.text if self.is_text else dumps(encode_parts(self.parts), separators=(",", ":"))

    @computed_once
    def digest(self) -> str:
        """Content address of `content`, computed once (prompts share their message objects)."""
        return text_digest(self.content)

    @computed_once
    def address(self) -> str:
        """Role and digest: what tells this message from others in the address of a prompt."""
        return f"{self.role if self.is_text else f'{self.role} in parts'}\0{self.digest}"


class SessionStatus(StrEnum):
    """Where a session stands, and why it stopped (LifelongAgentBench, appendix B.1.5)."""

    INITIAL = "initial"
    RUNNING = "running"
    COMPLETED = "completed"
    AGENT_VALIDATION_FAILED = "agent_validation_failed"
    AGENT_CONTEXT_LIMIT = "agent_context_limit"
    AGENT_OUT_OF_MEMORY = "agent_out_of_memory"
    AGENT_UNKNOWN_ERROR = "agent_unknown_error"
    TASK_LIMIT_REACHED = "task_limit_reached"
    TASK_ENVIRONMENT_ERROR = "task_environment_error"
    TASK_UNKNOWN_ERROR = "task_unknown_error"

    @property
    def is_terminal(self) -> bool:
        """No further turn will be played."""
        return self not in (SessionStatus.INITIAL, SessionStatus.RUNNING)

    @property
    def is_abnormal_inference(self) -> bool:
        """The model itself failed: the paper's 'abnormal' statuses."""
        return self in (
            SessionStatus.AGENT_CONTEXT_LIMIT,
            SessionStatus.AGENT_OUT_OF_MEMORY,
            SessionStatus.AGENT_UNKNOWN_ERROR,
        )


class EvaluationOutcome(StrEnum):
    """What the grader said of a finished session."""

    UNSET = "unset"
    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNKNOWN = "unknown"
    IGNORED = "ignored"
    """The task could not be posed on this machine: outside every denominator, counted and named."""


@dataclass(frozen=True)
class Observation:
    """What an environment answers to an action."""

    text: str
    accepted: bool = True
    """The environment carried the action out."""
    done: bool = False
    status: SessionStatus = SessionStatus.RUNNING
    reason: str = ""
    """Finish reason, for a terminal status."""
    reward: float = 0.0
    """Reward of this step, where the environment has one."""


@dataclass(frozen=True)
class Evaluation:
    """The verdict on one task."""

    outcome: EvaluationOutcome
    reward: float
    """In [0, 1]; the cumulative reward over tasks is a metric."""
    detail: Mapping[str, float | int | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What every task has; environments add their own fields in a subclass."""

    id: str
    goal: str
    skills: tuple[str, ...] = ()


EPOCH = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""What worlds give as the present where a configuration has no `clock`."""


@dataclass(frozen=True)
class Trial:
    """One entry of the schedule: a task, and which repeat of it."""

    task_id: str
    repeat: int = 0
    """From 0."""
    clock: datetime = EPOCH
    """What the world gives as the present, the same for the whole task. Aware of its time zone."""


@dataclass(frozen=True)
class Sampling:
    """How a completion is drawn. The defaults are those of both papers: greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, init=False)
class Completion:
    """One reply of a language model: `Completion("a text")`, or several parts."""

    parts: tuple[Part, ...]
    finish_reason: str
    """`stop`, `length`, `tool_calls` or whatever else the server said."""
    usage: Usage
    logprobs: tuple[TokenLogprob, ...]
    seconds: float = field(compare=False)
    """From when it was sent to its answer, without the wait for a connection; 0 where nobody measured."""

    def __init__(
        self,
        content: str | Iterable[Part],
        finish_reason: str = "stop",
        usage: Usage = Usage(),  # noqa: B008 - frozen
        logprobs: Iterable[TokenLogprob] = (),
        seconds: float = 0.0,
    ) -> None:
        object.__setattr__(self, "parts", checked_parts(content))
        object.__setattr__(self, "finish_reason", finish_reason)
        object.__setattr__(self, "usage", usage)
        object.__setattr__(self, "logprobs", tuple(logprobs))
        object.__setattr__(self, "seconds", seconds)

    def having(self, content: str | Iterable[Part]) -> Completion:
        """The same reply with another content."""
        return Completion(content, self.finish_reason, self.usage, self.logprobs, self.seconds)

    def taking(self, seconds: float) -> Completion:
        """The same reply, with the seconds that it took."""
        return Completion(self.parts, self.finish_reason, self.usage, self.logprobs, seconds)

    @computed_once
    def text(self) -> str:
        """What is said."""
        return said(self.parts)

    @property
    def is_text(self) -> bool:
        """It has no other part than one text."""
        return is_one_text(self.parts)

    @property
    def is_cut(self) -> bool:
        """It ended because it became too long."""
        return self.finish_reason.lower() in ("length", "max_tokens")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that are called, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def reasoning(self) -> tuple[str, ...]:
        """What was thought, in order."""
        return tuple(part.text for part in self.parts if isinstance(part, Reasoning))


Reply: TypeAlias = Completion
"""What an agent answers with: text, tool calls and thoughts, why it ended, and what it cost."""


@dataclass(frozen=True)
class Draw:
    """Which of several equal questions one is; in its digest and cache key, never on the wire."""

    repeat: int = 0
    """Of the task."""
    turn: int = 0
    """Of the task, from 1; 0 before the first."""
    draw: int = 0
    """Of the same question by the same caller in one turn."""


@dataclass(frozen=True)
class Request:
    """One question to a language model.

    `schema` is a JSON Schema that the reply must satisfy (constrained decoding where the model supports it),
    `tools` are OpenAI-shaped tool definitions, `logprobs` is how many alternatives a token are wanted
    (0: none). `draw` is stamped by the handle that asks.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None = None
    tools: Sequence[Mapping[str, JSON]] | None = None
    logprobs: int = 0
    sampling: Sampling = Sampling()
    draw: Draw = Draw()
