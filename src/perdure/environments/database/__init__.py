"""LifelongAgentBench's database world on an embedded engine that behaves like MySQL."""

from perdure.core.world import World
from perdure.environments.database.actions import DO_NOTHING
from perdure.environments.database.environment import MAX_INTERACTIONS, DatabaseEnvironment, skills
from perdure.environments.database.normalise import normalise
from perdure.environments.database.oracle import oracle
from perdure.environments.database.prompts import REPLY_FORM

WORLD = World(
    environment=DatabaseEnvironment,
    max_interactions=MAX_INTERACTIONS,
    do_nothing=DO_NOTHING,
    reply_form=lambda environment: REPLY_FORM,
    normalise=normalise,
    oracle=oracle,
    skills=skills,
    side_by_side=True,
)

__all__ = ["WORLD", "DatabaseEnvironment"]
