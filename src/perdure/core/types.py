"""The data that crosses every boundary: frozen, JSON-shaped, importing nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from math import isfinite
from typing import Any, Literal, TypeAlias

JSON: TypeAlias = Any
"""Anything `json.dumps` accepts; used only at the edges where the shape belongs to a plugin."""

Role: TypeAlias = Literal["system", "user", "agent"]


def text_digest(text: str) -> str:
    """Content address of a text: 32 hex digits of BLAKE2b. Lone surrogates are allowed."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Message:
    """One item of an interaction history or of a prompt."""

    role: Role
    text: str

    @cached_property
    def digest(self) -> str:
        """Content address of the text, computed once (prompts share their message objects)."""
        return text_digest(self.text)


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

    def problem(self) -> str | None:
        """What makes it no verdict: a reward outside [0, 1], a detail that is no finite number; else None."""
        # What a plugin hands over need not be what its annotations say.
        reward: object = self.reward
        details: dict[object, object] = dict(self.detail.items())
        if not isinstance(reward, int | float) or not 0.0 <= reward <= 1.0:
            return f"reward {reward!r:.80}; a reward lies in [0, 1]"
        for key, value in details.items():
            if not isinstance(key, str):
                return f"the detail {key!r:.80}; names are texts"
            if value is not None and not (isinstance(value, int | float) and isfinite(value)):
                return f"detail {key!r:.80} = {value!r:.80}; a detail is a finite number, true, false or None"
        return None


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


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the server counted them; cached and reasoning are parts of the first two."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model asked for; `arguments` is the raw JSON text it wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class TokenLogprob:
    """Natural-log probability of one completion token and of its alternatives."""

    token: str
    logprob: float
    alternatives: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Completion:
    """One reply of a language model."""

    text: str
    finish_reason: str = "stop"
    """`stop`, `length`, `tool_calls` or whatever else the server said."""
    usage: Usage = Usage()
    tool_calls: tuple[ToolCall, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True)
class TokenCount:
    """Size of a prompt, and whether the served model's own tokenizer counted it."""

    tokens: int
    exact: bool


@dataclass(frozen=True)
class Request:
    """One question to a language model.

    `schema` is a JSON Schema that the reply must satisfy (constrained decoding where the model supports it),
    `tools` are OpenAI-shaped tool definitions, `logprobs` is how many alternatives a token are wanted
    (0: none), `draw` (repeat, turn, draw) tells draws of one prompt apart: it is stamped by the handle that
    asks, counts in digests and cache keys, and is never sent.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None = None
    tools: Sequence[Mapping[str, JSON]] | None = None
    logprobs: int = 0
    sampling: Sampling = Sampling()
    draw: tuple[int, int, int] = (0, 0, 0)
