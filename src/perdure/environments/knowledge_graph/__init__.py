"""Questions over a knowledge graph, answered by exploring it with seven actions."""

from perdure.environments.knowledge_graph.actions import DO_NOTHING, normal_form
from perdure.environments.knowledge_graph.environment import (
    MAX_INTERACTIONS,
    KnowledgeGraphEnvironment,
    normalise,
)
from perdure.environments.knowledge_graph.oracle import build_oracle
from perdure.environments.knowledge_graph.tasks import task_skills

ENVIRONMENT = KnowledgeGraphEnvironment

__all__ = [
    "DO_NOTHING",
    "ENVIRONMENT",
    "MAX_INTERACTIONS",
    "KnowledgeGraphEnvironment",
    "build_oracle",
    "normal_form",
    "normalise",
    "task_skills",
]
