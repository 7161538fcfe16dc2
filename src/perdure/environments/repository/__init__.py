"""The software repository of SkillExecBench: branches, pull requests, tests and releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perdure.environments.repository.actions import ACTION_PATTERN, DO_NOTHING, NO_OP, normal_form
from perdure.environments.repository.environment import (
    MAX_INTERACTIONS,
    RepositoryEnvironment,
    normalise,
    script_digest,
    true_states,
)
from perdure.environments.repository.oracle import build_oracle
from perdure.environments.repository.perfect_reader import perfect_reader, perfect_summary
from perdure.environments.repository.scoring import state_fidelity

if TYPE_CHECKING:
    from perdure.environments.repository.state import RepositoryState

    STATE_SCHEMA: type[RepositoryState]

ENVIRONMENT = RepositoryEnvironment

__all__ = [
    "ACTION_PATTERN",
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "NO_OP",
    "STATE_SCHEMA",
    "RepositoryEnvironment",
    "build_oracle",
    "normal_form",
    "normalise",
    "perfect_reader",
    "perfect_summary",
    "script_digest",
    "state_fidelity",
    "true_states",
]


def __getattr__(name: str) -> Any:
    """`STATE_SCHEMA` needs pydantic, so it is made when it is asked for."""
    if name == "STATE_SCHEMA":
        from perdure.environments.repository.state import RepositoryState

        return RepositoryState
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
