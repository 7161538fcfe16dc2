"""A counter to be brought to a target: the smallest complete environment."""

from perdure.core.world import World
from perdure.environments.counter.actions import DO_NOTHING
from perdure.environments.counter.environment import MAX_INTERACTIONS, CounterEnvironment, skills
from perdure.environments.counter.oracle import oracle
from perdure.environments.counter.prompts import REPLY_FORM
from perdure.environments.counter.state import state_support

WORLD = World(
    environment=CounterEnvironment,
    max_interactions=MAX_INTERACTIONS,
    do_nothing=DO_NOTHING,
    reply_form=lambda environment: REPLY_FORM,
    oracle=oracle,
    skills=skills,
    state=state_support,
    side_by_side=True,
)

__all__ = ["WORLD", "CounterEnvironment"]
