"""A run whose prompts grow ends with one line; one whose prompts do not goes through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.callbacks.max_prompt_growth import MaxPromptGrowth, PromptGrowthExceeded


def config(strategy: dict[str, Any], limit: float) -> dict[str, Any]:
    return {
        "environment": {"name": "warehouse", "tasks": 2, "horizon": 120},
        "agent": {"strategy": strategy},
        "models": {"default": {"provider": "perfect_reader"}},
        "callbacks": [{"name": "max_prompt_growth", "tokens_per_step": limit}],
    }


def test_a_growing_history_ends_the_run_early(tmp_path: Path) -> None:
    with pytest.raises(PromptGrowthExceeded, match="allows 1") as raised:
        perdure.run(config({"name": "full_history"}, 1.0), out=tmp_path / "run")
    assert "over 50 steps" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(perdure.load(tmp_path / "run").sessions) == 0


@pytest.mark.parametrize("strategy", [{"name": "sliding_window", "turns": 3}, {"name": "structured_state"}])
def test_a_bounded_prompt_goes_through(tmp_path: Path, strategy: dict[str, Any]) -> None:
    run = perdure.run(config(strategy, 1.0), out=tmp_path / "run")
    assert len(run.sessions) == 2


def test_it_is_no_part_of_what_the_run_is(tmp_path: Path) -> None:
    with pytest.raises(PromptGrowthExceeded):
        perdure.run(config({"name": "full_history"}, 1.0), out=tmp_path / "run")
    run = perdure.run(config({"name": "full_history"}, 1000.0), out=tmp_path / "run")
    assert len(run.sessions) == 2


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="tokens_per_step"):
        MaxPromptGrowth(tokens_per_step=-1)
    with pytest.raises(ValueError, match="every"):
        MaxPromptGrowth(tokens_per_step=1, every=5)
