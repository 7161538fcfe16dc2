"""The warehouse of SkillExecBench: what stands where, over hundreds of events."""

from perdure.core.world import Readers, World
from perdure.environments.skillexec.environment import asked, script_digest, true_states
from perdure.environments.warehouse.actions import DO_NOTHING
from perdure.environments.warehouse.environment import (
    MAX_INTERACTIONS,
    WarehouseEnvironment,
    state_support,
)
from perdure.environments.warehouse.oracle import oracle
from perdure.environments.warehouse.perfect_reader import perfect_reader, perfect_summary
from perdure.environments.warehouse.prompts import REPLY_FORM
from perdure.environments.warehouse.scoring import state_fidelity

WORLD = World(
    environment=WarehouseEnvironment,
    max_interactions=MAX_INTERACTIONS,
    do_nothing=DO_NOTHING,
    reply_form=lambda environment: REPLY_FORM,
    oracle=oracle,
    state=state_support,
    readers=Readers(
        perfect_reader=perfect_reader,
        perfect_summary=perfect_summary,
        true_states=true_states,
        asked=asked,
        fidelity=state_fidelity,
    ),
    side_by_side=True,
)

__all__ = ["WORLD", "WarehouseEnvironment", "script_digest"]
