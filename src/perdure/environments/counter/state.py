"""What an agent without a history keeps in mind, for strategies with a structured state."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.types import JSON
from perdure.core.world import StateSupport
from perdure.environments.counter.environment import CounterEnvironment
from perdure.environments.counter.prompts import ACTION_FORM

STATE_SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "value": {
            "type": ["integer", "null"],
            "default": None,
            "description": "where the counter will stand after your action",
        },
        "target": {"type": ["integer", "null"], "default": None, "description": "where it must stand"},
    },
    "additionalProperties": False,
    "examples": [{"value": 7, "target": 12}],
}

ACTION_PATTERN = r"Action: (add -?[0-9]|read|done)"

NO_OP = "Action: read"
"""An action that changes nothing."""


def state_support(environment: CounterEnvironment) -> StateSupport:
    """The same for every configuration."""
    return StateSupport(
        schema=STATE_SCHEMA, action_form=ACTION_FORM, action_pattern=ACTION_PATTERN, no_op=NO_OP
    )
