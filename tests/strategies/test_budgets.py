"""No prompt is larger than its budget unless it is listed, whatever happens in a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.agent import ContextStrategy
from perdure.core.errors import ConfigError
from perdure.core.pool import ModelHandle
from perdure.core.types import Completion, Message, Request
from perdure.models.scripted import ScriptedModel
from perdure.strategies.budget import Budget
from perdure.strategies.capped_summary import CappedSummary
from perdure.strategies.prompt_compression import PromptCompression
from perdure.strategies.sliding_window import SlidingWindow
from tests.strategies.playing import FIRST, GOAL, INSTRUCTIONS, WordModel, numbered, play, words

WORDS = st.text(st.sampled_from("ab1_ \n"), max_size=80)
TURNS = st.lists(st.tuples(WORDS, WORDS), max_size=12)

Build = Callable[[WordModel, int, Any], ContextStrategy]

BUILDS: dict[str, Build] = {
    "sliding_window": lambda model, tokens, kind: SlidingWindow(
        budget_tokens=tokens, budget=kind, model=model
    ),
    "capped_summary": lambda model, tokens, kind: CappedSummary(
        budget_tokens=tokens, budget=kind, model=model
    ),
    "prompt_compression": lambda model, tokens, kind: PromptCompression(
        budget_tokens=tokens, budget=kind, model=model
    ),
}


def long_summary(request: Request) -> Completion:
    return Completion("word " * 50)


def budget_trace(strategy: ContextStrategy) -> Any:
    trace = strategy.trace()
    return trace.get("budget") if isinstance(trace.get("budget"), dict) else trace


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
@given(turns=TURNS, tokens=st.integers(1, 90))
@settings(max_examples=60, deadline=None)
def test_a_whole_prompt_keeps_to_its_budget_or_is_listed(
    build: Build, turns: list[tuple[str, str]], tokens: int
) -> None:
    strategy = build(WordModel(long_summary), tokens, "whole_prompt")
    sizes = [words(prompt) for prompt in play(strategy, turns)]
    trace = budget_trace(strategy)
    assert [[step, size, tokens] for step, size in enumerate(sizes, 1) if size > tokens] == trace[
        "overspends"
    ]
    assert trace["largest_prompt"] == max(sizes)
    assert trace["counts"] == "exact"


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
@given(turns=TURNS, tokens=st.integers(1, 90))
@settings(max_examples=60, deadline=None)
def test_a_budget_for_the_history_leaves_the_fixed_part_out(
    build: Build, turns: list[tuple[str, str]], tokens: int
) -> None:
    strategy = build(WordModel(long_summary), tokens, "history_only")
    for step, prompt in enumerate(play(strategy, turns)):
        latest = turns[step - 1][1] if step else FIRST
        fixed = words([Message("system", INSTRUCTIONS), Message("user", f"{GOAL} {latest}")])
        assert words(prompt) - fixed <= tokens
    assert budget_trace(strategy)["overspends"] == []


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_a_fixed_part_that_is_too_large_is_sent_and_listed(build: Build) -> None:
    strategy = build(WordModel(), 30, "whole_prompt")
    turns = [*numbered(3), ("look", "glare " * 100), *numbered(2)]
    prompts = list(play(strategy, turns))
    assert "glare " * 99 in prompts[4][-1].text
    (overspend,) = budget_trace(strategy)["overspends"]
    assert overspend == [5, words(prompts[4]), 30]


def test_a_sliding_window_is_as_long_as_it_can_be() -> None:
    strategy = SlidingWindow(budget_tokens=60, model=WordModel())
    *_, prompt = play(strategy, numbered(20))
    one_turn_more = words(prompt) + 1 + 4 + 3 + 4
    assert words(prompt) <= 60 < one_turn_more


def test_an_estimate_is_marked() -> None:
    strategy = SlidingWindow(budget_tokens=60, model=ModelHandle.of(ScriptedModel(["x"])))
    list(play(strategy, numbered(3)))
    assert strategy.trace()["counts"] == "estimate"


def test_a_new_task_forgets_what_was_spent() -> None:
    strategy = SlidingWindow(budget_tokens=5, model=WordModel())
    list(play(strategy, numbered(3)))
    list(play(strategy, []))
    assert [step for step, _, _ in strategy.trace()["overspends"]] == [1]


def test_a_budget_needs_a_model_and_a_positive_size() -> None:
    with pytest.raises(ConfigError, match="model"):
        Budget(10, "whole_prompt", None)
    with pytest.raises(ConfigError, match="at least 1"):
        Budget(0, "whole_prompt", WordModel())
    with pytest.raises(ConfigError, match="turns, budget_tokens or both"):
        SlidingWindow()
    with pytest.raises(ConfigError, match="at least 0"):
        SlidingWindow(turns=-1)
