"""The warehouse of SkillExecBench: what stands where, over hundreds of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perdure.environments.warehouse.actions import ACTION_PATTERN, DO_NOTHING, NO_OP, normal_form
from perdure.environments.warehouse.environment import (
    MAX_INTERACTIONS,
    WarehouseEnvironment,
    normalise,
    script_digest,
    true_states,
)
from perdure.environments.warehouse.oracle import build_oracle
from perdure.environments.warehouse.perfect_reader import perfect_reader, perfect_summary
from perdure.environments.warehouse.scoring import state_fidelity

if TYPE_CHECKING:
    from perdure.environments.warehouse.state import WarehouseState

    STATE_SCHEMA: type[WarehouseState]

ENVIRONMENT = WarehouseEnvironment

__all__ = [
    "ACTION_PATTERN",
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "NO_OP",
    "STATE_SCHEMA",
    "WarehouseEnvironment",
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
        from perdure.environments.warehouse.state import WarehouseState

        return WarehouseState
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
