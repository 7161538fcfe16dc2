"""Every context strategy passes the suite, with and without a budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perdure.conformance.strategies import check_strategy
from perdure.core.agent import ContextStrategy
from perdure.core.request_digest import request_digest
from perdure.core.types import Completion
from perdure.strategies.capped_summary import CappedSummary
from perdure.strategies.full_history import FullHistory
from perdure.strategies.memory import Memory
from perdure.strategies.observation_masking import ObservationMasking
from perdure.strategies.prompt_compression import PromptCompression
from perdure.strategies.sliding_window import SlidingWindow
from perdure.strategies.stateful import Stateful
from tests.strategies.playing import WordModel


def summariser() -> WordModel:
    """Writes another summary for another request, so that what leaks into one is seen later."""
    return WordModel(lambda request: Completion(f"a summary {request_digest(request)[:8]}"))


BUILDS: dict[str, Callable[[], ContextStrategy]] = {
    "full history": FullHistory,
    "observation masking": lambda: ObservationMasking(window=2),
    "memory": lambda: Memory(model=summariser()),
    "memory with a period": lambda: Memory(model=summariser(), window=0, period=7),
    "stateful": Stateful,
    "stateful, state last": lambda: Stateful(state_position="last", merge="deep", commit="paper"),
    "sliding window of turns": lambda: SlidingWindow(turns=2),
    "sliding window of nothing": lambda: SlidingWindow(turns=0),
    "sliding window under a budget": lambda: SlidingWindow(budget_tokens=120, model=summariser()),
    "sliding window, budget too small": lambda: SlidingWindow(budget_tokens=1, model=summariser()),
    "capped summary": lambda: CappedSummary(model=summariser(), summary_tokens=5),
    "capped summary under a budget": lambda: CappedSummary(model=summariser(), budget_tokens=100),
    "compression": lambda: PromptCompression(budget_tokens=120, model=summariser()),
    "compression of the history only": lambda: PromptCompression(
        budget_tokens=40, budget="history_only", model=summariser()
    ),
}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_the_suite_passes(build: Callable[[], ContextStrategy]) -> None:
    failed = [result for result in check_strategy(build) if not result.passed]
    assert not failed
