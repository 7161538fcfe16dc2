"""Every context strategy passes the suite, with and without a budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perdure.conformance.strategies import check_strategy
from perdure.core.agent import ContextStrategy
from perdure.strategies.capped_summary import CappedSummary
from perdure.strategies.memory import Memory
from perdure.strategies.prompt_compression import PromptCompression
from perdure.strategies.sliding_window import SlidingWindow
from perdure.strategies.stateful import Stateful
from tests.strategies.playing import WordModel

BUILDS: dict[str, Callable[[], ContextStrategy]] = {
    "memory": lambda: Memory(model=WordModel()),
    "memory with a period": lambda: Memory(model=WordModel(), window=0, period=7),
    "stateful": Stateful,
    "stateful, state last": lambda: Stateful(state_position="last", merge="deep", commit="paper"),
    "sliding window of turns": lambda: SlidingWindow(turns=2),
    "sliding window of nothing": lambda: SlidingWindow(turns=0),
    "sliding window under a budget": lambda: SlidingWindow(budget_tokens=120, model=WordModel()),
    "sliding window, budget too small": lambda: SlidingWindow(budget_tokens=1, model=WordModel()),
    "capped summary": lambda: CappedSummary(model=WordModel(), summary_tokens=5),
    "capped summary under a budget": lambda: CappedSummary(model=WordModel(), budget_tokens=100),
    "compression": lambda: PromptCompression(budget_tokens=120, model=WordModel()),
    "compression of the history only": lambda: PromptCompression(
        budget_tokens=40, budget="history_only", model=WordModel()
    ),
}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_the_suite_passes(build: Callable[[], ContextStrategy]) -> None:
    failed = [result for result in check_strategy(build) if not result.passed]
    assert not failed
