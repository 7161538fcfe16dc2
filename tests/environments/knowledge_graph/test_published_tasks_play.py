from __future__ import annotations

import pytest

from benchmarks.kg_fidelity import AGENTBENCH, LIFELONG, ONTOLOGY, conversions, witnesses
from tests.environments.knowledge_graph.graphs import DATA

pytestmark = pytest.mark.skipif(
    not ((DATA / ONTOLOGY).is_dir() and all((DATA / name).exists() for name in (LIFELONG, *AGENTBENCH))),
    reason="published data is not here",
)


def test_gold_actions_play_with_the_published_ontology() -> None:
    """All of LifelongAgentBench; of AgentBench, all but those that break its own rules."""
    missed = {tally.name.partition(":")[0]: len(tally.missed) for tally in witnesses(DATA)}
    assert missed == {
        "lifelongagentbench/knowledge_graph": 0,
        "knowledgegraph/dev": 0,
        "knowledgegraph/std": 4,
        "knowledgegraph/kg_rl_all": 52,
    }


def test_every_conversion_reaches_its_target() -> None:
    for tally in conversions(DATA):
        assert tally.total
        assert tally.reached, str(tally)
