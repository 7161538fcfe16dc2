"""Memory and its capped sibling: what is summarised, when, and what is lost."""

from __future__ import annotations

import pytest

from perdure.core.environment import Opening
from perdure.core.errors import ConfigError, ModelError
from perdure.core.history import HistoryFactory
from perdure.core.model import Outcome
from perdure.core.types import Completion, Observation, Request
from perdure.strategies.capped_summary import CappedSummary
from perdure.strategies.memory import Memory
from perdure.strategies.summary_prompt import asks_for_summary
from tests.strategies.playing import FIRST, GOAL, INSTRUCTIONS, WordModel, numbered, play, text_of


def listing(request: Request) -> Outcome:
    """A summary that names every light of its prompt."""
    lights = [word for word in text_of(request.messages).split() if word.startswith("light-")]
    return Completion("seen: " + " ".join(dict.fromkeys(lights)))


def test_nothing_is_lost_between_window_and_summary() -> None:
    for period in (1, 2, 5):
        model = WordModel(listing)
        for step, prompt in enumerate(play(Memory(model=model, window=3, period=period), numbered(20))):
            shown = text_of(prompt)
            assert all(f"light-{i}" in shown for i in range(1, step + 1))


def test_each_turn_that_leaves_is_summarised_once() -> None:
    model = WordModel(listing)
    strategy = Memory(model=model, window=3, period=1)
    list(play(strategy, numbered(10)))
    assert len(model.requests) == 10 - 3
    for number, request in enumerate(model.requests):
        assert asks_for_summary(request.messages)
        replies = [word for word in request.messages[1].text.split() if word.startswith("press-")]
        assert replies == ([f"press-{number + 1}"])
    assert strategy.trace()["summaries"] == 7


def test_a_longer_period_asks_less_often() -> None:
    model = WordModel(listing)
    list(play(Memory(model=model, window=3, period=4), numbered(23)))
    assert len(model.requests) == (23 - 3) // 4


def test_the_summariser_is_told_instructions_goal_and_old_summary() -> None:
    model = WordModel(listing)
    list(play(Memory(model=model), numbered(6)))
    prompt = text_of(model.requests[-1].messages)
    for part in (INSTRUCTIONS, GOAL, "seen: light-1", "light-2 is on\nReply:\npress-3"):
        assert part in prompt
    assert FIRST in text_of(model.requests[0].messages)


def test_the_window_is_three_turns_and_the_rest_prose() -> None:
    *_, prompt = play(Memory(model=WordModel()), numbered(9))
    assert [message.text for message in prompt[2:]] == [
        "press-7",
        "light-7 is on",
        "press-8",
        "light-8 is on",
        "press-9",
        "light-9 is on",
    ]
    assert prompt[1].text == f"{GOAL}\n\nWhat happened before, in short:\na summary\n\nlight-6 is on"


def test_a_summary_that_cannot_be_had_is_tried_again() -> None:
    answers: list[Outcome] = [ModelError("overloaded"), *[Completion("fine")] * 20]
    strategy = Memory(model=WordModel(lambda request: answers.pop(0)))
    prompts = list(play(strategy, numbered(5)))
    assert "press-1" in text_of(prompts[4])
    assert "press-1" not in text_of(prompts[5])
    assert strategy.trace()["failed_summaries"] == [[4, "overloaded"]]


def test_the_end_of_a_task_is_not_summarised() -> None:
    model = WordModel()
    strategy = Memory(model=model, window=0)
    first = Observation(FIRST)
    strategy.start(Opening(GOAL, first, HistoryFactory().construct(GOAL, first)), "")
    strategy.observe(Observation("the gate is open", done=True))
    assert model.requests == []


def test_a_capped_summary_is_cut_to_its_ceiling_for_good() -> None:
    model = WordModel(lambda request: Completion("one two three four five six seven"))
    strategy = CappedSummary(model=model, summary_tokens=4)
    *_, prompt = play(strategy, numbered(8))
    assert "one two three four\n" in prompt[1].text
    assert "five" not in text_of(prompt)
    assert "five" not in text_of(model.requests[-1].messages)
    assert {request.sampling.max_tokens for request in model.requests} == {4}
    assert strategy.trace()["cut_summaries"] == 5


def test_one_large_observation_does_not_cost_the_summary() -> None:
    model = WordModel(listing)
    strategy = CappedSummary(model=model, budget_tokens=80)
    turns = [*numbered(5), ("look", "glare " * 100), *numbered(2)]
    prompts = list(play(strategy, turns))
    assert "light-1" not in text_of(prompts[6])
    assert "light-1" in text_of(prompts[-1])


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match="a model must write the summaries"):
        Memory()
    with pytest.raises(ConfigError, match="window must be at least 0"):
        Memory(model=WordModel(), window=-1)
    with pytest.raises(ConfigError, match="period must be at least 1"):
        Memory(model=WordModel(), period=0)
    with pytest.raises(ConfigError, match="summary_tokens, budget_tokens or both"):
        CappedSummary(model=WordModel())
    with pytest.raises(ConfigError, match="summary_tokens must be at least 1"):
        CappedSummary(model=WordModel(), summary_tokens=0)
