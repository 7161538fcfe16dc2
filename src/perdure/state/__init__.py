"""The structured-state runtime: a declared state in place of a history, changed by validated patches."""

from perdure.state.agent import AgentResult, AgentStep, StateAgent
from perdure.state.agent_options import PatchRules
from perdure.state.guards import Guards
from perdure.state.journal import JournalEntry, PatchJournal
from perdure.state.patch import PatchLimits, Proposal
from perdure.state.runtime import StateRuntime
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure, FailureClass, lost_fields

__all__ = [
    "AgentResult",
    "AgentStep",
    "Failure",
    "FailureClass",
    "Guards",
    "JournalEntry",
    "PatchJournal",
    "PatchLimits",
    "PatchRules",
    "Proposal",
    "StateAgent",
    "StateRuntime",
    "StateSchema",
    "lost_fields",
]
