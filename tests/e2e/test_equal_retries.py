"""Who may ask again decides a comparison: with equal retries, what a strategy shows does."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean

import perdure
from perdure.experiment.sweep import load_sweep

SWEEP = Path(__file__).parents[2] / "configs" / "flaky_reader.toml"
NOISE = 0.1
"""Three standard errors of a difference between two means over 300 events of which a fifth is lost."""


def test_a_reader_whose_replies_are_cut_loses_the_same_under_every_strategy(tmp_path: Path) -> None:
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    for number, planned in enumerate(load_sweep(SWEEP, out=tmp_path).runs):
        run = perdure.run(planned.config, out=tmp_path / str(number))
        agent = run.config.agent
        assert agent.retries is not None
        records = list(run.records())
        scores[agent.retries][agent.strategy.name] = mean(record.reward for record in records)
        assert sum(record.cut for record in records) == sum(record.malformed for record in records) > 30
    assert set(scores[0]) == set(scores[2]) == {"full_history", "stateful", "structured_state"}
    for retries, at_least, at_most in ((0, 0.6, 0.88), (2, 0.95, 1.0)):
        found = scores[retries].values()
        assert max(found) - min(found) <= NOISE
        assert all(at_least <= score <= at_most for score in found)
