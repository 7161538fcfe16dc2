"""LifelongAgentBench's operating-system world: a fresh Linux machine a task, worked on by bash."""

from perdure.environments.operating_system.actions import DO_NOTHING, normal_form
from perdure.environments.operating_system.environment import MAX_INTERACTIONS, OperatingSystemEnvironment
from perdure.environments.operating_system.machines import resolve_parameters, surroundings
from perdure.environments.operating_system.normalise import normalise
from perdure.environments.operating_system.oracle import build_oracle
from perdure.environments.operating_system.tasks import task_skills

ENVIRONMENT = OperatingSystemEnvironment

__all__ = [
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "OperatingSystemEnvironment",
    "build_oracle",
    "normal_form",
    "normalise",
    "resolve_parameters",
    "surroundings",
    "task_skills",
]
