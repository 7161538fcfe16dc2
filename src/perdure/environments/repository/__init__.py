"""The software repository of SkillExecBench: branches, pull requests, tests and releases."""

from perdure.core.world import Readers, World
from perdure.environments.repository.actions import DO_NOTHING
from perdure.environments.repository.environment import (
    MAX_INTERACTIONS,
    RepositoryEnvironment,
    state_support,
)
from perdure.environments.repository.oracle import oracle
from perdure.environments.repository.perfect_reader import perfect_reader, perfect_summary
from perdure.environments.repository.prompts import REPLY_FORM
from perdure.environments.repository.scoring import state_fidelity
from perdure.environments.skillexec.environment import asked, script_digest, true_states

WORLD = World(
    environment=RepositoryEnvironment,
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

__all__ = ["WORLD", "RepositoryEnvironment", "script_digest"]
