"""LifelongAgentBench's database world on an embedded engine that behaves like MySQL."""

from perdure.environments.database.actions import DO_NOTHING, normal_form, normalise
from perdure.environments.database.environment import MAX_INTERACTIONS, DatabaseEnvironment
from perdure.environments.database.oracle import build_oracle
from perdure.environments.database.tasks import task_skills

ENVIRONMENT = DatabaseEnvironment

__all__ = [
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "DatabaseEnvironment",
    "build_oracle",
    "normal_form",
    "normalise",
    "task_skills",
]
