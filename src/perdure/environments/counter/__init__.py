"""A counter to be brought to a target: the smallest complete environment."""

from perdure.environments.counter.actions import DO_NOTHING, normal_form
from perdure.environments.counter.environment import MAX_INTERACTIONS, CounterEnvironment, normalise
from perdure.environments.counter.oracle import build_oracle
from perdure.environments.counter.state import ACTION_PATTERN, NO_OP, STATE_SCHEMA
from perdure.environments.counter.tasks import task_skills

ENVIRONMENT = CounterEnvironment

__all__ = [
    "ACTION_PATTERN",
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "NO_OP",
    "STATE_SCHEMA",
    "CounterEnvironment",
    "build_oracle",
    "normal_form",
    "normalise",
    "task_skills",
]
