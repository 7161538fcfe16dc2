"""Questions over a knowledge graph, answered by exploring it with seven actions."""

from perdure.core.world import World
from perdure.environments.knowledge_graph.actions import DO_NOTHING
from perdure.environments.knowledge_graph.environment import (
    MAX_INTERACTIONS,
    KnowledgeGraphEnvironment,
    skills,
)
from perdure.environments.knowledge_graph.oracle import oracle
from perdure.environments.knowledge_graph.prompts import REPLY_FORM

WORLD = World(
    environment=KnowledgeGraphEnvironment,
    max_interactions=MAX_INTERACTIONS,
    do_nothing=DO_NOTHING,
    reply_form=lambda environment: REPLY_FORM,
    oracle=oracle,
    skills=skills,
    side_by_side=True,
)

__all__ = ["WORLD", "KnowledgeGraphEnvironment"]
