"""perdure: evaluate and run LLM agents that last.

    perdure.run("config.toml")     run an experiment, or resume it, and return the finished `Run`
    perdure.load("runs/…")         open a run folder
    perdure.StateAgent(…)          a constant-context agent in your own program

Each folder is a layer, and its docstring says what may live there. `core` reads in this order: `types`,
`session`, `environment`, `agent`, `callback`, `controller`, then `environments/counter`.
"""

from typing import TYPE_CHECKING, Any

from perdure.core.agent import Absorbed, Agent, ContextStrategy, ContextView, ModelAgent
from perdure.core.callback import Callback, CallbackContext, SessionController, Step
from perdure.core.environment import Environment, Opening
from perdure.core.errors import PerdureError, Refusal
from perdure.core.history import HistoryFactory, InteractionHistory
from perdure.core.model import LanguageModel
from perdure.core.parameters import FromFile, Operational
from perdure.core.pool import ModelHandle, ModelPool
from perdure.core.session import PastSession, Session, SessionRecord
from perdure.core.types import (
    Completion,
    Evaluation,
    EvaluationOutcome,
    Message,
    Observation,
    Reply,
    Request,
    Sampling,
    SessionStatus,
    Task,
    Trial,
    Usage,
)
from perdure.core.world import Readers, StateSupport, World

if TYPE_CHECKING:
    from perdure.experiment.runs import Run, load, run
    from perdure.state.agent import StateAgent

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
    "FromFile",
    "HistoryFactory",
    "InteractionHistory",
    "LanguageModel",
    "Message",
    "ModelAgent",
    "ModelHandle",
    "ModelPool",
    "Observation",
    "Opening",
    "Operational",
    "PastSession",
    "PerdureError",
    "Readers",
    "Refusal",
    "Reply",
    "Request",
    "Run",
    "Sampling",
    "Session",
    "SessionController",
    "SessionRecord",
    "SessionStatus",
    "StateAgent",
    "StateSupport",
    "Step",
    "Task",
    "Trial",
    "Usage",
    "World",
    "load",
    "run",
]


def __getattr__(name: str) -> Any:
    """What runs and what agents need is loaded when it is asked for: plug-ins need neither."""
    if name == "StateAgent":
        from perdure.state.agent import StateAgent

        return StateAgent
    if name in ("Run", "load", "run"):
        from perdure.experiment.runs import Run, load, run

        return {"Run": Run, "load": load, "run": run}[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
