"""What an agent without a history keeps in mind, for strategies with a structured state."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.types import JSON

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
}

ACTION_PATTERN = r"Action: (add -?[0-9]|read|done)"

NO_OP = "Action: read"
"""An action that changes nothing."""
