"""perdure: evaluate and run LLM agents that last.

    perdure.run("config.toml")     run an experiment, or resume it, and return the finished `Run`
    perdure.load("runs/…")         open a run folder

The core reads in this order: `types`, `session`, `environment`, `agent`, `callback`, `controller`, then
`environments/counter`.
"""

from perdure.agent import Absorbed, Agent, ContextStrategy, ContextView, ModelAgent
from perdure.callback import Callback, CallbackContext, SessionController, Step
from perdure.environment import Environment, Opening
from perdure.errors import PerdureError
from perdure.history import HistoryFactory, InteractionHistory
from perdure.model import LanguageModel, ModelPool, Request
from perdure.run import Run, load, run
from perdure.session import PastSession, Session, SessionRecord
from perdure.types import (
    Completion,
    Evaluation,
    EvaluationOutcome,
    Message,
    Observation,
    Sampling,
    SessionStatus,
    Task,
    Usage,
)

__all__ = [
    "Absorbed",
    "Agent",
    "Callback",
    "CallbackContext",
    "Completion",
    "ContextStrategy",
    "ContextView",
    "Environment",
    "Evaluation",
    "EvaluationOutcome",
    "HistoryFactory",
    "InteractionHistory",
    "LanguageModel",
    "Message",
    "ModelAgent",
    "ModelPool",
    "Observation",
    "Opening",
    "PastSession",
    "PerdureError",
    "Request",
    "Run",
    "Sampling",
    "Session",
    "SessionController",
    "SessionRecord",
    "SessionStatus",
    "Step",
    "Task",
    "Usage",
    "load",
    "run",
]
