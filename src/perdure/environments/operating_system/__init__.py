"""LifelongAgentBench's operating-system world: a fresh Linux machine a task, worked on by bash."""

from perdure.core.world import World
from perdure.environments.operating_system.actions import DO_NOTHING
from perdure.environments.operating_system.environment import (
    MAX_INTERACTIONS,
    OperatingSystemEnvironment,
    reply_form,
    skills,
)
from perdure.environments.operating_system.machines import most_machines, resolve_parameters, surroundings
from perdure.environments.operating_system.normalise import normalise
from perdure.environments.operating_system.oracle import oracle

WORLD = World(
    environment=OperatingSystemEnvironment,
    max_interactions=MAX_INTERACTIONS,
    do_nothing=DO_NOTHING,
    reply_form=reply_form,
    normalise=normalise,
    oracle=oracle,
    skills=skills,
    side_by_side=True,
    max_parallel=most_machines,
    resolve_parameters=resolve_parameters,
    surroundings=surroundings,
)

__all__ = ["WORLD", "OperatingSystemEnvironment"]
