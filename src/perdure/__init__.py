"""perdure: evaluate and run LLM agents that last.

    perdure.run("config.toml")     run an experiment, or resume it, and return the finished `Run`
    perdure.load("runs/…")         open a run folder
    perdure.StateAgent(…)          a constant-context agent in your own program

Each folder is a layer, and its docstring says what may live there. `core` reads in this order: `types`,
`session`, `environment`, `agent`, `callback`, `controller`, then `environments/counter`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    )
    from perdure.core.usage import Usage
    from perdure.core.world import Readers, StateSupport, World
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

_HOMES = {
    "Absorbed": "perdure.core.agent",
    "Agent": "perdure.core.agent",
    "Callback": "perdure.core.callback",
    "CallbackContext": "perdure.core.callback",
    "Completion": "perdure.core.types",
    "ContextStrategy": "perdure.core.agent",
    "ContextView": "perdure.core.agent",
    "Environment": "perdure.core.environment",
    "Evaluation": "perdure.core.types",
    "EvaluationOutcome": "perdure.core.types",
    "FromFile": "perdure.core.parameters",
    "HistoryFactory": "perdure.core.history",
    "InteractionHistory": "perdure.core.history",
    "LanguageModel": "perdure.core.model",
    "Message": "perdure.core.types",
    "ModelAgent": "perdure.core.agent",
    "ModelHandle": "perdure.core.pool",
    "ModelPool": "perdure.core.pool",
    "Observation": "perdure.core.types",
    "Opening": "perdure.core.environment",
    "Operational": "perdure.core.parameters",
    "PastSession": "perdure.core.session",
    "PerdureError": "perdure.core.errors",
    "Readers": "perdure.core.world",
    "Refusal": "perdure.core.errors",
    "Reply": "perdure.core.types",
    "Request": "perdure.core.types",
    "Run": "perdure.experiment.runs",
    "Sampling": "perdure.core.types",
    "Session": "perdure.core.session",
    "SessionController": "perdure.core.callback",
    "SessionRecord": "perdure.core.session",
    "SessionStatus": "perdure.core.types",
    "StateAgent": "perdure.state.agent",
    "StateSupport": "perdure.core.world",
    "Step": "perdure.core.callback",
    "Task": "perdure.core.types",
    "Trial": "perdure.core.types",
    "Usage": "perdure.core.usage",
    "World": "perdure.core.world",
    "load": "perdure.experiment.runs",
    "run": "perdure.experiment.runs",
}
"""Where each public name is defined. It is imported when it is first asked for: whoever needs one part does
not wait for the others."""


def __getattr__(name: str) -> Any:
    """A public name, imported now and kept."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = vars(import_module(_HOMES[name]))[name]
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
